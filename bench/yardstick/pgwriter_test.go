package main

import (
	"context"
	"encoding/hex"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func testRows() *copyRows { return newCopyRows(&reader{topic: "t", cluster: "c", incarnation: "i"}) }

// pollOf has n records of one partition.
func pollOf(partition int32, from int64, n int) poll {
	p := poll{at: time.UnixMilli(from)}
	for i := range n {
		p.records = append(p.records, &kgo.Record{Topic: "t", Partition: partition, Offset: from + int64(i), Value: []byte("v")})
	}
	return p
}

func TestEncodeMakesBatches(t *testing.T) {
	polls, free, full := make(chan poll, 8), make(chan *pgBatch, 3), make(chan *pgBatch, 8)
	for _, p := range []poll{pollOf(0, 10, 3), pollOf(1, 0, 3), pollOf(0, 13, 4), pollOf(1, 3, 1)} {
		polls <- p
	}
	close(polls)
	for range cap(free) {
		free <- &pgBatch{}
	}
	encode(t.Context(), config{rowsPerTx: 5}, testRows(), polls, free, full)
	first, second := <-full, <-full
	if _, more := <-full; more {
		t.Error("a third batch")
	}
	if first.n != 6 || !maps.Equal(first.spans, map[int32]span{0: {From: 10, Next: 13}, 1: {From: 0, Next: 3}}) || first.from != time.UnixMilli(10) {
		t.Errorf("first batch: %d rows, %+v, read at %v", first.n, first.spans, first.from)
	}
	if second.n != 5 || !maps.Equal(second.spans, map[int32]span{0: {From: 13, Next: 17}, 1: {From: 3, Next: 4}}) {
		t.Errorf("second batch: %d rows, %+v", second.n, second.spans)
	}
}

// A write that fails must not leave the encoder waiting.
func TestEncodeEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for name, free := range map[string]chan *pgBatch{"no batch is free": make(chan *pgBatch), "no poll comes": make(chan *pgBatch, 1)} {
		if cap(free) > 0 {
			free <- &pgBatch{}
		}
		full := make(chan *pgBatch)
		encode(ctx, config{rowsPerTx: 5}, testRows(), make(chan poll), free, full)
		if _, more := <-full; more {
			t.Errorf("%s: a batch came", name)
		}
	}
}

func TestCopyRow(t *testing.T) {
	r := &kgo.Record{
		Partition: 2, Offset: 7, Timestamp: time.UnixMilli(9), Key: []byte{}, Value: nil,
		Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}, {Key: "n"}},
	}
	id := newIDMaker("c", "t", "i", 2).id(7, nil)
	want := "000a" + "00000010" + hex.EncodeToString(id[:]) +
		"0000000163" + "0000000174" + "0000000169" + "0000000400000002" +
		"000000080000000000000007" + "000000080000000000000009" +
		"00000000" + "ffffffff" +
		"0000002f" + "00000002" + "00000001" + "00000011" + "0000000200000001" + "0000000200000001" +
		"0000000168" + "0000000178" + "000000016e" + "ffffffff"
	if got := hex.EncodeToString(testRows().append(nil, r)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Headers = nil
	if got := hex.EncodeToString(testRows().append(nil, r)); got[len(got)-8:] != "ffffffff" {
		t.Errorf("no headers: %s", got)
	}
}
