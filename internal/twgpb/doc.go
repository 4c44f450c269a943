// Package twgpb is the Go code generated from proto/twg/v1. Only
// internal/wire imports it.
package twgpb

//go:generate go run ../protogen ../../proto .
