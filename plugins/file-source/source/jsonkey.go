package source

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// pointer leads to a value of a JSON document, name by name.
type pointer []string

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// newPointer takes a JSON pointer (RFC 6901), or the name of a field.
func newPointer(s string) pointer {
	if !strings.HasPrefix(s, "/") {
		return pointer{s}
	}
	parts := strings.Split(s[1:], "/")
	for i, p := range parts {
		parts[i] = unescape.Replace(p)
	}
	return parts
}

func badPointer(s string) bool {
	if !strings.HasPrefix(s, "/") {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return true
		}
	}
	return false
}

var bom = []byte("\xef\xbb\xbf")

// find returns the value in a document: of a string what it says, of anything
// else its JSON. It is nil where there is none, or null, and where the
// document is no JSON.
func (p pointer) find(doc []byte) []byte {
	at := json.RawMessage(bytes.TrimPrefix(doc, bom))
	for _, name := range p {
		at = child(at, name)
		if at == nil {
			return nil
		}
	}
	var text string
	switch at = bytes.TrimSpace(at); {
	case string(at) == "null":
		return nil
	case at[0] == '"' && json.Unmarshal(at, &text) == nil:
		return []byte(text)
	}
	return at
}

// child is a field of an object, or an element of a list; nil: there is none.
func child(doc json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(doc, &object) == nil {
		return object[name]
	}
	var list []json.RawMessage
	if i, err := strconv.Atoi(name); err == nil && json.Unmarshal(doc, &list) == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}
