//go:build !faults

// Package faultpoint names the moments at which the fault harness may stop
// and kill a process. In the product every point is an empty function; only a
// build with the tag faults has more.
package faultpoint

// Hit says that the process is at the named moment.
func Hit(string) {}
