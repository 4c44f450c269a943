package sdk

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

func (d *settingsDecoder) scalar(path []string, text []byte, v reflect.Value) {
	switch t := v.Type(); {
	case t == byteSizeType:
		d.byteSize(path, text, v)
	case t == durationType:
		d.duration(path, text, v)
	case t.Kind() == reflect.String:
		if s, ok := d.text(path, text, t); ok {
			v.SetString(s)
		}
	case t.Kind() == reflect.Bool:
		if b := string(text); b == "true" || b == "false" {
			v.SetBool(b == "true")
		} else {
			d.wrongType(path, t)
		}
	default:
		d.number(path, string(text), v)
	}
}

// text reads a JSON string.
func (d *settingsDecoder) text(path []string, text []byte, t reflect.Type) (s string, ok bool) {
	if text[0] != '"' || json.Unmarshal(text, &s) != nil {
		d.wrongType(path, t)
		return "", false
	}
	return s, true
}

func (d *settingsDecoder) duration(path []string, text []byte, v reflect.Value) {
	s, ok := d.text(path, text, v.Type())
	if !ok {
		return
	}
	n, err := time.ParseDuration(s)
	if err != nil {
		d.errorf(path, "Bad duration", `Write numbers with units, such as "500ms", "10s" or "1m30s".`)
		return
	}
	v.SetInt(int64(n))
}

// byteSize takes a number, too.
func (d *settingsDecoder) byteSize(path []string, text []byte, v reflect.Value) {
	s := string(text)
	if !isNumeral(s) {
		var ok bool
		if s, ok = d.text(path, text, v.Type()); !ok {
			return
		}
	}
	n, err := ParseByteSize(s)
	if err != nil {
		d.errorf(path, "Bad size", "%s.", upperFirst(err.Error()))
		return
	}
	v.SetInt(int64(n))
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func isNumeral(s string) bool { return s[0] == '-' || s[0] >= '0' && s[0] <= '9' }

func (d *settingsDecoder) number(path []string, text string, v reflect.Value) {
	if !isNumeral(text) {
		d.wrongType(path, v.Type())
		return
	}
	var ok bool
	switch {
	case v.CanInt():
		var n int64
		if n, ok = wholeInt(text); ok && !v.OverflowInt(n) {
			v.SetInt(n)
			return
		}
	case v.CanUint():
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			var i int64
			i, ok = wholeInt(text)
			n, ok = uint64(i), ok && i >= 0
		}
		if (err == nil || ok) && !v.OverflowUint(n) {
			v.SetUint(n)
			return
		}
	default:
		if n, err := strconv.ParseFloat(text, 64); err == nil && !v.OverflowFloat(n) {
			v.SetFloat(n)
			return
		}
	}
	d.errorf(path, "Number out of range", "Write %s.", rangeOf(v))
}

// wholeInt reads an integer, also one that is written 1e3 or 5.0.
func wholeInt(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func rangeOf(v reflect.Value) string {
	bits := v.Type().Bits()
	switch {
	case v.CanInt():
		most := int64(math.MaxInt64 >> (64 - bits))
		return "a whole number from " + strconv.FormatInt(-most-1, 10) + " to " + strconv.FormatInt(most, 10)
	case v.CanUint():
		return "a whole number from 0 to " + strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return "a number that a float of " + strconv.Itoa(bits) + " bits can hold"
}

func (d *settingsDecoder) wrongType(path []string, t reflect.Type) {
	if len(path) == 0 {
		d.errorf(path, "Wrong type", "The settings must be an object.")
		return
	}
	d.errorf(path, "Wrong type", "%q must be %s.", strings.Join(path, "."), typeWords(t))
}

func typeWords(t reflect.Type) string {
	switch {
	case t == durationType:
		return `a duration, such as "10s"`
	case t == byteSizeType:
		return `a size, such as "64MiB"`
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list; each element: " + typeWords(t.Elem())
	case reflect.Map:
		return "a map; each value: " + typeWords(t.Elem())
	case reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return typeWords(t.Elem())
	}
	return "a number"
}
