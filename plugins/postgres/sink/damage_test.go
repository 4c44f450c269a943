//go:build services

package sink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// State that was truncated, changed, deleted or rolled back is refused, or what
// it stood for is read again. It never makes a start skip what is not there.
func TestDamagedState(t *testing.T) {
	const refused, again, same = "refused", "again", "same"
	for name, c := range map[string]struct{ sql, want string }{
		"coverage truncated":        {"truncate _twg.coverage", again},
		"coverage grew":             {"update _twg.coverage set next_position = next_position | 1024", refused},
		"coverage shrank":           {"update _twg.coverage set next_position = next_position & ~64", refused},
		"coverage moved":            {"update _twg.coverage set from_position = from_position | 4, next_position = next_position | 1024", refused},
		"held is void":              {"update _twg.coverage set reason = 'retention'", refused},
		"held is of another lane":   {"update _twg.coverage set lane = 'law'", again},
		"checksum changed":          {"update _twg.coverage set crc = crc # 1", refused},
		"coverage of another":       {"update _twg.coverage set stream = (select id from _twg.streams where partition = 1)", refused},
		"streams truncated":         {"truncate _twg.streams", again},
		"the stream got a new name": {"update _twg.streams set topic = 'orderr'", again},
		"it became another stream":  {"delete from _twg.streams where partition = 1; update _twg.streams set partition = 1", refused},
		"another id":                {"update _twg.streams set id = gen_random_uuid()", again},
		"cursors truncated":         {"truncate _twg.cursors", same},
		"a cursor moved back":       {"update _twg.cursors set position = 96", refused},
		"a cursor moved ahead":      {"update _twg.cursors set position = 228", same}, // not handed out
		"a cursor changed":          {"update _twg.cursors set token = '\\x06'", refused},
		"layout truncated":          {"truncate _twg.layout", refused},
		"an older layout":           {"update _twg.layout set version = 1", refused},
		"targets truncated":         {"truncate _twg.targets", same},
		"targets and table emptied": {"truncate _twg.targets; truncate raw", refused},
		"backends truncated":        {"truncate _twg.backends", same},
		"the schema dropped":        {"drop schema _twg cascade", again},
		"a table dropped":           {"drop table _twg.coverage", again},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shared)
			s := r.sink()
			e := r.acquire(s, "one", streamA, streamB)[0]
			b := span(t, e, 0, 100)
			b.Cursors = []sdk.Cursor{{Stream: streamA, Position: 100, Token: []byte{7}}}
			ses := r.open(s)
			ses.deliver(b)
			ses.abort()
			r.exec(c.sql)
			got, hole := again, r.firstHole()
			switch {
			case strings.HasPrefix(hole, "refused"):
				got = refused
			case hole == "100 [7]" || hole == "100 []" && (name == "cursors truncated" || name == "a cursor moved ahead"):
				got = same
			case hole != "0 []":
				got = "skips: " + hole
			}
			if got != c.want {
				t.Errorf("%s, want %s: %s", got, c.want, hole)
			}
			if c.want == again { // all that comes again is there once
				s := r.sink()
				e := r.acquire(s, "two", streamA)[0]
				r.open(s).deliver(span(t, e, 0, 120))
				if r.rows() != 120 || r.held(s, streamA) != held(0, 120) {
					t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
				}
			}
		})
	}
}

// firstHole is what a start finds, of both streams: the lower hole of a stream
// that has rows, and the cursor. Any stream that is refused refuses the start.
func (r *rig) firstHole() string {
	s := r.sink()
	if ses, err := r.tryOpen(s); err != nil {
		return refusal(err)
	} else {
		ses.abort()
	}
	streams := []sdk.Stream{streamA, streamB}
	if _, err := s.Acquire(r.t.Context(), "two", streams); err != nil {
		return refusal(err)
	}
	sets, err := s.Coverage(r.t.Context(), sdk.LaneRaw, streams)
	if err != nil {
		return refusal(err)
	}
	if hole := sets[1].Set.FirstHole(); hole != 0 {
		return fmt.Sprintf("%d of a stream that has no row", hole)
	}
	cursors, err := s.Cursors(r.t.Context(), streams)
	if err != nil {
		return refusal(err)
	}
	var token []byte
	if len(cursors) > 0 {
		token = cursors[0].Token
	}
	return fmt.Sprintf("%d %v", sets[0].Set.FirstHole(), token)
}

// refusal is an error after which a pipeline halts.
func refusal(err error) string {
	if sdk.KindOf(err) == sdk.KindFatal {
		return "refused: " + err.Error()
	}
	return "tried again for ever: " + err.Error()
}
