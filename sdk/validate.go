package sdk

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settingRule is one part of a validate tag.
type settingRule struct {
	name    string // min, max or oneof
	text    string // the limit, as it is written
	limit   float64
	allowed []string
}

func parseRules(t reflect.Type, tag string) ([]settingRule, error) {
	if tag == "" {
		return nil, nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var out []settingRule
	for part := range strings.SplitSeq(tag, ",") {
		r, err := parseRule(t, part)
		if err != nil {
			return nil, fmt.Errorf("rule %q of the validate tag: %w", part, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func parseRule(t reflect.Type, part string) (r settingRule, err error) {
	name, text, _ := strings.Cut(part, "=")
	r = settingRule{name: name, text: text}
	switch name {
	case "min", "max":
		r.limit, err = parseLimit(t, text)
	case "oneof":
		r.allowed = strings.Split(text, "|")
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.String {
			err = fmt.Errorf("it is for strings and lists of strings, not for %s", t)
		}
	default:
		err = fmt.Errorf("there are min, max and oneof")
	}
	return r, err
}

// parseLimit reads a limit as values of type t are written.
func parseLimit(t reflect.Type, text string) (float64, error) {
	switch {
	case t == durationType:
		n, err := time.ParseDuration(text)
		return float64(n), err
	case t == byteSizeType:
		n, err := ParseByteSize(text)
		return float64(n), err
	case isNumber(t.Kind()):
		return strconv.ParseFloat(text, 64)
	case hasLength(t.Kind()):
		n, err := strconv.Atoi(text)
		return float64(n), err
	}
	return 0, fmt.Errorf("%s has no size", t)
}

func hasLength(k reflect.Kind) bool {
	return k == reflect.String || k == reflect.Slice || k == reflect.Map
}

// measure is what min and max compare: a number, or a length.
func measure(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	}
	return float64(v.Len())
}

func (d *settingsDecoder) check(path []string, v reflect.Value, rules []settingRule) {
	for _, r := range rules {
		switch r.name {
		case "min":
			switch {
			case measure(v) >= r.limit:
			case r.limit == 1 && hasLength(v.Kind()):
				d.errorf(path, "Empty", "%q must not be empty.", strings.Join(path, "."))
			default:
				d.errorf(path, "Too small", "%q must be at least %s%s.", strings.Join(path, "."), r.text, unitOf(v.Kind()))
			}
		case "max":
			if !(measure(v) <= r.limit) {
				d.errorf(path, "Too large", "%q must be at most %s%s.", strings.Join(path, "."), r.text, unitOf(v.Kind()))
			}
		case "oneof":
			d.checkAllowed(path, v, r.allowed)
		}
	}
}

func unitOf(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return " bytes long"
	case reflect.Slice, reflect.Map:
		return " elements long"
	}
	return ""
}

func (d *settingsDecoder) checkAllowed(path []string, v reflect.Value, allowed []string) {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			d.checkAllowed(append(path, strconv.Itoa(i)), v.Index(i), allowed)
		}
		return
	}
	if !slices.Contains(allowed, v.String()) {
		d.errorf(path, "Value not allowed", "%q must be one of: %s.", strings.Join(path, "."), strings.Join(allowed, ", "))
	}
}
