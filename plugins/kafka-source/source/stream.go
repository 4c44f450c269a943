package source

import (
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
}

// run is one Start of a stream.
type run struct {
	id      uint64
	stream  sdk.Stream
	topicID [16]byte
	parts   int

	// next is where the next fetch begins, epoch the leader epoch of the last
	// batch before it (-1: not known). Both belong to whoever holds the run:
	// a fetch that is under way (busy), else the table.
	next  int64
	epoch int32
	busy  bool
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

	// sent is the position behind the last span; the sender's alone.
	sent int64
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
