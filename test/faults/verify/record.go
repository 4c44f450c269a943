// Package verify compares what a topic holds with what files hold, and
// committed offsets with both. It is pure: it reads neither.
package verify

import (
	"bytes"
	"fmt"
)

// Place is where a record stands in the topic.
type Place struct {
	Partition int32
	Position  int64
}

func (p Place) String() string {
	return fmt.Sprintf("partition %d position %d", p.Partition, p.Position)
}

// Header is one header of a record; a nil value is null.
type Header struct {
	Name  string
	Value []byte
}

// Record is a record with everything that must arrive. Nil and empty keys and
// values are different.
type Record struct {
	Place
	TimestampMS int64
	Key, Value  []byte
	Headers     []Header
}

// Row is a record as it stands in a file, with what twg adds.
type Row struct {
	Record
	Cluster, Topic, Incarnation string
	ID                          [16]byte
}

// Topic is what identifies the streams of a run.
type Topic struct{ Cluster, Name, Incarnation string }

// Diff says what is wrong with row, or nothing.
func (t Topic) Diff(want Record, row Row) string {
	switch {
	case row.Cluster != t.Cluster || row.Topic != t.Name || row.Incarnation != t.Incarnation:
		return fmt.Sprintf("stream is %q %q %q, not %q %q %q", row.Cluster, row.Topic, row.Incarnation, t.Cluster, t.Name, t.Incarnation)
	case row.TimestampMS != want.TimestampMS:
		return fmt.Sprintf("timestamp is %d, not %d", row.TimestampMS, want.TimestampMS)
	case !same(row.Key, want.Key):
		return fmt.Sprintf("key is %s, not %s", show(row.Key), show(want.Key))
	case !same(row.Value, want.Value):
		return fmt.Sprintf("value is %s, not %s", show(row.Value), show(want.Value))
	}
	if d := diffHeaders(want.Headers, row.Headers); d != "" {
		return d
	}
	if id := t.ID(want); row.ID != id {
		return fmt.Sprintf("record id is %x, not %x", row.ID, id)
	}
	return ""
}

func diffHeaders(want, got []Header) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d headers, not %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Name != want[i].Name || !same(got[i].Value, want[i].Value) {
			return fmt.Sprintf("header %d is %q: %s, not %q: %s", i, got[i].Name, show(got[i].Value), want[i].Name, show(want[i].Value))
		}
	}
	return ""
}

// same tells null from empty.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func show(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 24:
		return fmt.Sprintf("%d bytes %q...", len(b), b[:24])
	}
	return fmt.Sprintf("%q", b)
}
