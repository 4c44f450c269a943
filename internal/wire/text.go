package wire

import "strings"

// text makes s fit a protobuf string, which must be UTF-8: an error may quote
// any bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
