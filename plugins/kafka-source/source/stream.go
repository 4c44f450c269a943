package source

import (
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

// partition names what the group assigns: a topic's name, whatever topic has
// that name now.
type partition struct {
	topic string
	num   int32
}

// stream is an assigned partition of one incarnation of its topic.
type stream struct {
	id      sdk.Stream
	topicID [16]byte
	// parts is how many partitions the topic had when the group first read
	// it.
	parts int
	// announced: the host was told. A stream that is not announced has no
	// identity yet.
	announced bool
	run       *run // nil: waits for a Start
	// name is what the host's store calls it, since it was started last.
	name sdk.Stream
}

// cutMark stands between a stream's incarnation and the number of times that
// its log was cut, where the host counts that.
const cutMark = "~"

// goesBy reports whether a name is the stream's: its own, the one under which
// it was started, or its own with a cut.
func (s *stream) goesBy(name sdk.Stream) bool {
	if name == s.id || name == s.name {
		return true
	}
	base, _, isCut := strings.Cut(name.Incarnation, cutMark)
	name.Incarnation = base
	return isCut && name == s.id
}

// incarnation is what is committed beside a position of a name of the stream's:
// a stream that the host's store knows without an incarnation has one here.
func (s *stream) incarnation(name sdk.Stream) string {
	if _, cut, isCut := strings.Cut(name.Incarnation, cutMark); isCut {
		return s.id.Incarnation + cutMark + cut
	}
	return s.id.Incarnation
}

// run is one Start of a stream.
type run struct {
	id      uint64
	stream  sdk.Stream // as the host calls it
	topicID [16]byte
	parts   int

	// next is where the next fetch begins, epochs what is known of the records
	// before it. Both belong to whoever holds the run: a fetch that is under way
	// (busy), else the table.
	next   int64
	epochs history
	busy   bool
	// retryAt keeps the run from being fetched after an error.
	retryAt time.Time
	// halted: reported as a gap or ended; it is fetched no more.
	halted bool
	// over: nothing of the run may be delivered any more.
	over bool
	// sending counts deliveries that have begun.
	sending int
	// committed is the highest mark that was committed in this run.
	committed int64

	// sent is the position behind the last span, sentEpochs what is known of the
	// records before it, and cursor says that and has to be sent. The sender's
	// alone.
	sent       int64
	sentEpochs history
	cursor     *sdk.Cursor
}

func comparePartitions(a, b partition) int {
	if a.topic != b.topic {
		if a.topic < b.topic {
			return -1
		}
		return 1
	}
	return int(a.num) - int(b.num)
}

func notAssigned(op string, s sdk.Stream) error {
	e := sdk.Errorf(sdk.KindFenced, op+" "+s.String(), "it is not assigned to this source (any more)")
	e.Scope = sdk.ScopeRun
	return e
}
