package copyrow

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/twg-io/twg/sdk"
)

// Check refuses a stream whose names cannot be text in PostgreSQL, and says
// which one it is. It is for a whole stream, not for a record: a topic can be
// renamed.
func Check(s sdk.Stream) error {
	for _, part := range []struct{ what, name string }{
		{"cluster", s.Cluster}, {"topic", s.Topic}, {"incarnation", s.Incarnation},
	} {
		switch {
		case !utf8.ValidString(part.name):
			return fmt.Errorf("%s %q is not UTF-8, which PostgreSQL's text must be", part.what, part.name)
		case strings.IndexByte(part.name, 0) >= 0:
			return fmt.Errorf("%s %q has a zero byte, which PostgreSQL's text cannot hold", part.what, part.name)
		}
	}
	return nil
}
