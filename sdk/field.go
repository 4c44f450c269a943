package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// settingField is a struct's field with a twg tag.
type settingField struct {
	Attribute
	index int
	typ   reflect.Type
	rules []settingRule
}

// settingFields reads the tags of struct type t. Wrong tags are a mistake of
// the plugin's author, found by the first call, so it panics.
func settingFields(t reflect.Type) []settingField {
	var out []settingField
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("twg")
		if !ok {
			continue
		}
		field, err := newSettingField(f, tag)
		if err == nil && slices.ContainsFunc(out, func(o settingField) bool { return o.Name == field.Name }) {
			err = fmt.Errorf("there is another setting %q", field.Name)
		}
		if err != nil {
			panic(fmt.Sprintf("sdk: settings struct %s, field %s: %v", t, f.Name, err))
		}
		field.index = i
		out = append(out, field)
	}
	return out
}

func newSettingField(f reflect.StructField, tag string) (settingField, error) {
	parts := strings.Split(tag, ",")
	out := settingField{typ: f.Type, Attribute: Attribute{Name: parts[0], Doc: f.Tag.Get("doc")}}
	if !f.IsExported() || out.Name == "" {
		return out, fmt.Errorf("a setting needs an exported field and a name in its twg tag")
	}
	for _, option := range parts[1:] {
		switch option {
		case "required":
			out.Required = true
		case "sensitive":
			out.Sensitive = true
		default:
			return out, fmt.Errorf("option %q of the twg tag is not known", option)
		}
	}
	var err error
	if out.Type, err = ctyType(f.Type, 0); err != nil {
		return out, err
	}
	if out.rules, err = parseRules(f.Type, f.Tag.Get("validate")); err != nil {
		return out, err
	}
	return out, out.setDefault(f.Tag)
}

func (f *settingField) setDefault(tag reflect.StructTag) error {
	text, ok := tag.Lookup("default")
	if !ok {
		return nil
	}
	if f.Required {
		return fmt.Errorf("a required setting has no use for a default")
	}
	f.Default = defaultJSON(f.typ, text)
	if !json.Valid([]byte(f.Default)) {
		return fmt.Errorf("default %q is not JSON", text)
	}
	var d settingsDecoder
	d.value([]string{f.Name}, []byte(f.Default), reflect.New(f.typ).Elem(), f.rules)
	if d.diags.HasErrors() {
		return fmt.Errorf("default %q: %s", text, d.diags[0].Detail)
	}
	return nil
}
