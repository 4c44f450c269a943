package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// settingsDecoder collects what is wrong while it fills a struct. Its callers
// have made sure that what it reads is JSON.
type settingsDecoder struct{ diags Diagnostics }

func (d *settingsDecoder) errorf(path []string, summary, format string, args ...any) {
	d.diags = append(d.diags, Diagnostic{
		Severity: SeverityError, Path: slices.Clone(path), Summary: summary, Detail: fmt.Sprintf(format, args...),
	})
}

func (d *settingsDecoder) object(path []string, text []byte, v reflect.Value) {
	var given map[string]json.RawMessage
	if json.Unmarshal(text, &given) != nil || given == nil {
		d.wrongType(path, v.Type())
		return
	}
	fields := settingFields(v.Type())
	d.unknown(path, given, fields)
	for _, f := range fields {
		d.field(append(path, f.Name), given[f.Name], v.Field(f.index), f)
	}
}

func (d *settingsDecoder) unknown(path []string, given map[string]json.RawMessage, fields []settingField) {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			d.errorf(append(path, name), "Unknown setting", "There is no setting %q here. %s", name, suggest(name, names))
		}
	}
}

func (d *settingsDecoder) field(path []string, text json.RawMessage, v reflect.Value, f settingField) {
	switch {
	case len(text) > 0 && string(text) != "null":
		d.value(path, text, v, f.rules)
	case f.Default != "":
		d.value(path, []byte(f.Default), v, f.rules)
	case f.Required:
		d.errorf(path, "Missing setting", "%q must be set%s.", strings.Join(path, "."), docOf(f))
	case v.Kind() == reflect.Struct:
		setDefaults(v)
	}
}

func docOf(f settingField) string {
	if f.Doc == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(f.Doc, ".")
}

// setDefaults fills a struct that is absent and need not be there: what it
// requires is not asked for.
func setDefaults(v reflect.Value) {
	var d settingsDecoder
	for _, f := range settingFields(v.Type()) {
		if !f.Required {
			d.field(nil, nil, v.Field(f.index), f)
		}
	}
}

// value decodes text, which is not absent, into v and holds it against rules.
func (d *settingsDecoder) value(path []string, text []byte, v reflect.Value, rules []settingRule) {
	before := len(d.diags)
	switch t := v.Type(); {
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.value(path, text, v.Elem(), rules)
		return
	case t.Kind() == reflect.Struct:
		d.object(path, text, v)
	case t.Kind() == reflect.Slice:
		d.list(path, text, v)
	case t.Kind() == reflect.Map:
		d.mapping(path, text, v)
	default:
		d.scalar(path, text, v)
	}
	if len(d.diags) == before {
		d.check(path, v, rules)
	}
}

func (d *settingsDecoder) list(path []string, text []byte, v reflect.Value) {
	var given []json.RawMessage
	if json.Unmarshal(text, &given) != nil || given == nil {
		d.wrongType(path, v.Type())
		return
	}
	out := reflect.MakeSlice(v.Type(), len(given), len(given))
	for i, e := range given {
		d.value(append(path, strconv.Itoa(i)), e, out.Index(i), nil)
	}
	v.Set(out)
}

func (d *settingsDecoder) mapping(path []string, text []byte, v reflect.Value) {
	var given map[string]json.RawMessage
	if json.Unmarshal(text, &given) != nil || given == nil {
		d.wrongType(path, v.Type())
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(given))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(append(path, key), given[key], e, nil)
		out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), e)
	}
	v.Set(out)
}
