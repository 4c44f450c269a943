package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/test/faults/tap"
)

const (
	whyCommit = "commit requested"
	whyStart  = "started"
	whyNow    = "committed"
)

// shownRequests are the kinds of request that the run looks at.
var shownRequests = []int16{int16(kmsg.OffsetCommit), int16(kmsg.Fetch)}

// shown takes a request that the broker does not have yet: everything below a
// position that it would commit, or begins to read at, must be durable.
func (r *run) shown(q tap.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), sampleWithin)
	defer cancel()
	switch body := q.Body.(type) {
	case *kmsg.OffsetCommitRequest:
		for _, t := range body.Topics { // there is one topic
			for _, p := range t.Partitions {
				r.watch.relied(ctx, whyCommit, p.Partition, p.Offset)
			}
		}
	case *kmsg.FetchRequest:
		for p, at := range r.starts.fetched(q, body) {
			r.watch.relied(ctx, whyStart, p, at)
		}
	}
}
