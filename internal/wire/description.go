package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toDescription(d sdk.Description) *twgpb.DescribeResponse {
	return &twgpb.DescribeResponse{Name: d.Name, Version: d.Version, Kind: twgpb.PluginKind(d.Kind), Doc: d.Doc, Settings: each(d.Schema, toAttribute)}
}

func fromDescription(d *twgpb.DescribeResponse) (sdk.Description, error) {
	if d.Kind != twgpb.PluginKind_PLUGIN_KIND_SOURCE && d.Kind != twgpb.PluginKind_PLUGIN_KIND_SINK {
		return sdk.Description{}, violation("plugin %q says it is of kind %d, which is neither a source nor a sink", d.Name, d.Kind)
	}
	return sdk.Description{Name: d.Name, Version: d.Version, Kind: sdk.PluginKind(d.Kind), Doc: d.Doc, Schema: each(d.Settings, fromAttribute)}, nil
}

func toAttribute(a sdk.Attribute) *twgpb.Attribute {
	return &twgpb.Attribute{Name: a.Name, Type: []byte(a.Type), Required: a.Required, Default: []byte(a.Default), Sensitive: a.Sensitive, Doc: a.Doc}
}

func fromAttribute(a *twgpb.Attribute) sdk.Attribute {
	return sdk.Attribute{Name: a.Name, Type: string(a.Type), Required: a.Required, Default: string(a.Default), Sensitive: a.Sensitive, Doc: a.Doc}
}
