package main

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/tap"
)

// sourceClient is the client id of kafka-source.
const sourceClient = "twg"

// starts finds out where source processes begin to read: at the first position
// that a process fetches of a partition, and wherever it goes back to an
// earlier one. It may be used by any goroutine.
type starts struct {
	sources func() []control.Process

	mu    sync.Mutex
	pids  map[uint64]int // by connection; 0: of no process that is known
	at    map[reading]int64
	count int
}

// reading is a process's place in a partition.
type reading struct {
	pid       int
	partition int32
}

func newStarts(sources func() []control.Process) *starts {
	return &starts{sources: sources, pids: map[uint64]int{}, at: map[reading]int64{}}
}

// fetched takes a fetch request and returns the starts in it, by partition.
func (s *starts) fetched(r tap.Request, body *kmsg.FetchRequest) map[int32]int64 {
	if r.Client != sourceClient {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, known := s.pids[r.Conn]
	if !known {
		pid = clientOf(r.Peer, s.sources())
		s.pids[r.Conn] = pid
	}
	if pid == 0 {
		return nil // it was killed since
	}
	out := map[int32]int64{}
	for _, t := range body.Topics { // there is one topic
		for _, p := range t.Partitions {
			k := reading{pid, p.Partition}
			if last, reads := s.at[k]; !reads || p.FetchOffset < last {
				out[p.Partition] = p.FetchOffset
				s.count++
			}
			s.at[k] = p.FetchOffset
		}
	}
	return out
}

// seen is how many starts there were.
func (s *starts) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
