package devkafka

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// document is a line that is JSON, as far as keys and timestamps need it.
type document struct{ root any }

func parse(line []byte) (document, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber() // a key that is a large number keeps its digits
	var root any
	if err := d.Decode(&root); err != nil {
		return document{}, fmt.Errorf("it is not JSON: %w", err)
	}
	return document{root}, nil
}

// key is the value at a pointer, as bytes; nil where there is none or it is
// null.
func (d document) key(pointer string) ([]byte, error) {
	v, err := d.at(pointer)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	case json.Number:
		return []byte(v), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	}
	return nil, fmt.Errorf("%s is an object or a list, which cannot be a key", pointer)
}

func (d document) time(pointer string) (time.Time, error) {
	v, err := d.at(pointer)
	if err != nil {
		return time.Time{}, err
	}
	switch v := v.(type) {
	case json.Number:
		if ms, err := v.Int64(); err == nil {
			return time.UnixMilli(ms), nil
		}
	case string:
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is neither a number of milliseconds nor an RFC 3339 time", pointer)
}

// at follows a JSON pointer, or takes a name for a field of the outermost
// object. A field that is not there is null.
func (d document) at(pointer string) (any, error) {
	if !strings.HasPrefix(pointer, "/") {
		pointer = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(pointer)
	}
	v := d.root
	for _, name := range strings.Split(pointer[1:], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 {
				return nil, fmt.Errorf("%s leads into a list, where %q is no index", pointer, name)
			}
			if v = nil; i < len(in) {
				v = in[i]
			}
		case nil:
			return nil, nil
		default:
			return nil, fmt.Errorf("%s leads into a value that has no fields", pointer)
		}
	}
	return v, nil
}
