package main

import (
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/host/lane"
	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/host/recovery"
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
	got := progressLine("p", s, &last, began.Add(2*time.Second), true)
	want := "p: 1,234,567 records, 616,783 records/s, 2.00 MB/s, lag 1,502, committed orders/0=10 orders/1=- orders/2=7 and 2 more streams"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = progressLine("p", pipeline.Status{Records: 1_234_567, Bytes: 5_000_000}, &last, began.Add(3*time.Second), true)
	if want := "p: 1,234,567 records, 0 records/s, 0.00 MB/s, lag unknown, no stream assigned"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProgressOfSecondaries(t *testing.T) {
	s := pipeline.Status{Secondaries: []pipeline.SecondaryStatus{
		{Name: "lake", Live: lane.Status{Name: "lake", Open: true, Delivered: 1200, ShedRows: 30, GivenUp: 2, SetAside: 1},
			Backlog: recovery.Backlog{Positions: 20, Rebuilt: 1000, SetAside: 1, Unrecoverable: 4}},
		{Name: "copy", Live: lane.Status{Name: "copy"}},
	}}
	got := progressLine("p", s, &mark{}, time.Unix(1000, 0), true)
	if want := "; lake: 1,200 live, 30 shed, 2 given up, 2 set aside, 1,000 rebuilt, 20 to rebuild, 4 LOST; copy: no session, 0 live"; !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant ...%s", got, want)
	}
	s.Secondaries[0].Live, s.Secondaries[1].Live = lane.Status{}, lane.Status{}
	s.Secondaries[0].Backlog.Live = 7
	got = progressLine("p", s, &mark{}, time.Unix(1000, 0), false)
	if want := "p: lake: 1 set aside, 1,000 rebuilt, 20 to rebuild, 7 above the live floor, left to hosts that ingest, 4 LOST; copy: nothing to rebuild"; got != want {
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
