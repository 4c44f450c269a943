package main

import (
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/sdk"
)

func TestProgressLine(t *testing.T) {
	began := time.Unix(1000, 0)
	last := mark{at: began, records: 1000, bytes: 1_000_000}
	stream := func(partition int32, committed, end int64) pipeline.StreamStatus {
		return pipeline.StreamStatus{Stream: sdk.Stream{Topic: "orders", Partition: partition}, Committed: committed, End: end}
	}
	s := pipeline.Status{Records: 1_234_567, Bytes: 5_000_000, Streams: []pipeline.StreamStatus{
		stream(0, 10, 12), stream(1, sdk.NoPosition, 1500), stream(2, 7, 7), stream(3, 1, 1), stream(4, 1, 1),
	}}
	got := progressLine("p", s, &last, began.Add(2*time.Second))
	want := "p: 1,234,567 records, 616,783 records/s, 2.00 MB/s, lag 1,502, committed orders/0=10 orders/1=- orders/2=7 and 2 more streams"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = progressLine("p", pipeline.Status{Records: 1_234_567, Bytes: 5_000_000}, &last, began.Add(3*time.Second))
	if want := "p: 1,234,567 records, 0 records/s, 0.00 MB/s, lag unknown, no stream assigned"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1_000_000: "1,000,000", -1234: "-1,234", -123: "-123"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

// On a terminal the line is erased before anything else is written, and comes
// back below it.
func TestScreen(t *testing.T) {
	var out strings.Builder
	s := &screen{w: &out, terminal: true, width: func() int { return 11 }}
	s.show("10 records and more")
	s.Write([]byte("a log line\n"))
	s.show("20 records")
	s.keep()
	s.Write([]byte("the end\n"))
	want := eraseLine + "10 records" + eraseLine + "a log line\n10 records" + eraseLine + "20 records\nthe end\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}
