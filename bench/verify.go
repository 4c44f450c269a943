package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// output is what a run's files, or its table, hold.
type output struct {
	files int
	bytes int64
	// ids is the sum of all record ids, half by half, without order. Ids are
	// bound to position and value, so two runs that hold the same records
	// have the same sum.
	ids [2]uint64
	// content is the sum of a hash of each whole row of a table; empty for
	// files.
	content string
}

// outputRow is the columns that are read back.
type outputRow struct {
	ID        [16]byte `parquet:"_twg_record_id,uuid"`
	Topic     string   `parquet:"topic"`
	Partition int32    `parquet:"partition"`
	Position  int64    `parquet:"position"`
}

// readOutput reads all files of dir and checks that each record of each topic
// is there exactly once. Each topic has n records.
func readOutput(dir string, topics []string, n int64) (output, error) {
	var o output
	paths, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		return o, err
	}
	seen := newSeen(topics, n)
	var rows int64
	for _, path := range paths {
		k, err := o.readFile(path, seen)
		if err != nil {
			return o, fmt.Errorf("read %s: %w", filepath.Base(path), err)
		}
		rows += k
	}
	return o, checkCount("files hold", rows, topics, n)
}

// newSeen has room for n records of each topic.
func newSeen(topics []string, n int64) map[string][]bool {
	seen := map[string][]bool{}
	for _, t := range topics {
		seen[t] = make([]bool, n)
	}
	return seen
}

func checkCount(what string, rows int64, topics []string, n int64) error {
	if want := n * int64(len(topics)); rows != want {
		return fmt.Errorf("wrong result: the %s %d rows of %d records", what, rows, want)
	}
	return nil
}

func (o *output) readFile(path string, seen map[string][]bool) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	o.files, o.bytes = o.files+1, o.bytes+st.Size()
	r := parquet.NewGenericReader[outputRow](f)
	defer r.Close()
	rows := make([]outputRow, 4096)
	var total int64
	for {
		n, err := r.Read(rows)
		for i := range rows[:n] {
			if err := o.add(&rows[i], seen); err != nil {
				return total, err
			}
		}
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// add counts a row. Record k of a topic was produced to partition k mod
// partitions, at position k / partitions.
func (o *output) add(r *outputRow, seen map[string][]bool) error {
	have := seen[r.Topic]
	k := r.Position*partitions + int64(r.Partition)
	if r.Partition < 0 || r.Partition >= partitions || k < 0 || k >= int64(len(have)) {
		return fmt.Errorf("wrong result: %s/%d position %d was never produced", r.Topic, r.Partition, r.Position)
	}
	if have[k] {
		return fmt.Errorf("wrong result: %s/%d position %d is there twice", r.Topic, r.Partition, r.Position)
	}
	have[k] = true
	o.ids[0] += binary.BigEndian.Uint64(r.ID[:8])
	o.ids[1] += binary.BigEndian.Uint64(r.ID[8:])
	return nil
}

// checkCommitted asks the broker whether the group's offsets are the topic's
// ends.
func checkCommitted(ctx context.Context, t task) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(t.address))
	if err != nil {
		return err
	}
	defer client.Close()
	committed, err := kadm.NewClient(client).FetchOffsets(ctx, t.group)
	if err != nil {
		return fmt.Errorf("fetch offsets of %s: %w", t.group, err)
	}
	for _, topic := range t.topics {
		for p := range int64(partitions) {
			want := (t.options.Records + partitions - 1 - p) / partitions
			got, ok := committed.Lookup(topic, int32(p))
			if !ok || got.At != want {
				return fmt.Errorf("wrong result: committed offset of %s/%d is %d (known: %t), the end is %d", topic, p, got.At, ok, want)
			}
		}
	}
	return nil
}
