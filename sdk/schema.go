package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// SchemaOf derives the settings schema from a struct (or a pointer to one), in
// the order of its fields; [Settings.Decode] says how a struct is written. It
// panics where a tag is wrong or a type cannot be a setting: a plugin finds
// that in its first test.
func SchemaOf(v any) []Attribute {
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("sdk: SchemaOf(%T); it takes a struct", v))
	}
	fields := settingFields(t)
	out := make([]Attribute, len(fields))
	for i, f := range fields {
		out[i] = f.Attribute
		out[i].Sensitive = f.Sensitive || anySensitive(f.typ)
	}
	return out
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	byteSizeType = reflect.TypeFor[ByteSize]()
)

// maxDepth bounds the nesting of a settings struct, which may name itself.
const maxDepth = 10

// ctyType is the cty type, in JSON, that the host converts a setting to.
func ctyType(t reflect.Type, depth int) (string, error) {
	if depth > maxDepth {
		return "", fmt.Errorf("settings nest more than %d deep", maxDepth)
	}
	switch kind := t.Kind(); {
	case t == durationType || t == byteSizeType || kind == reflect.String:
		return `"string"`, nil
	case kind == reflect.Bool:
		return `"bool"`, nil
	case isNumber(kind):
		return `"number"`, nil
	case kind == reflect.Pointer:
		return ctyType(t.Elem(), depth+1)
	case kind == reflect.Slice:
		return collectionType("list", t, depth)
	case kind == reflect.Map && t.Key().Kind() == reflect.String:
		return collectionType("map", t, depth)
	case kind == reflect.Struct:
		return objectType(t, depth)
	}
	return "", fmt.Errorf("a setting cannot have type %s", t)
}

func isNumber(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Uint64 || k == reflect.Float32 || k == reflect.Float64
}

func collectionType(name string, t reflect.Type, depth int) (string, error) {
	elem, err := ctyType(t.Elem(), depth+1)
	return fmt.Sprintf("[%q,%s]", name, elem), err
}

// objectType names the attributes that may be absent in a third element.
func objectType(t reflect.Type, depth int) (string, error) {
	var attrs, optional []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("twg")
		if !ok {
			continue
		}
		typ, err := ctyType(f.Type, depth+1)
		if err != nil {
			return "", fmt.Errorf("field %s: %w", f.Name, err)
		}
		parts := strings.Split(tag, ",")
		attrs = append(attrs, fmt.Sprintf("%q:%s", parts[0], typ))
		if !slices.Contains(parts[1:], "required") {
			optional = append(optional, fmt.Sprintf("%q", parts[0]))
		}
	}
	if len(attrs) == 0 {
		return "", fmt.Errorf("%s has no field with a twg tag", t)
	}
	out := `["object",{` + strings.Join(attrs, ",") + `}`
	if len(optional) > 0 {
		out += `,[` + strings.Join(optional, ",") + `]`
	}
	return out + `]`, nil
}

// anySensitive: a list or a struct with a secret inside is a secret.
func anySensitive(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return anySensitive(t.Elem())
	case reflect.Struct:
		for _, f := range settingFields(t) {
			if f.Sensitive || anySensitive(f.typ) {
				return true
			}
		}
	}
	return false
}

// defaultJSON turns a default tag into JSON: a string's is written without
// quotes.
func defaultJSON(t reflect.Type, text string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.String || t == durationType || t == byteSizeType {
		quoted, _ := json.Marshal(text) // a string always can be
		return string(quoted)
	}
	return text
}
