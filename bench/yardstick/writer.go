package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// write puts polls into files; at rowsPerFile, and at the end, it seals the
// open file and only then commits what the file holds.
func write(ctx context.Context, c config, r *reader, polls <-chan poll) (summary, error) {
	var s summary
	cols, log := newColumns(r), &files{dir: c.dir}
	for p := range polls {
		if s.Records == 0 {
			s.FirstRecordAt = p.at
		}
		if err := appendPoll(cols, log, p.records); err != nil {
			return s, err
		}
		s.Records += int64(len(p.records))
		if log.rows < c.rowsPerFile && s.Records < c.records {
			continue
		}
		if err := log.seal(); err != nil {
			return s, err
		}
		s.AllDurableAt = time.Now()
		if err := r.commit(ctx, log.next()); err != nil {
			return s, err
		}
	}
	return s, nil
}

func appendPoll(cols *columns, log *files, records []*kgo.Record) error {
	if log.f == nil {
		if err := log.open(); err != nil {
			return err
		}
	}
	cols.fill(records)
	if err := cols.writeTo(log.writer); err != nil {
		return err
	}
	for _, r := range records {
		s, ok := log.spans[r.Partition]
		if !ok {
			s = span{Topic: r.Topic, Partition: r.Partition, From: r.Offset}
		}
		s.Next = r.Offset + 1
		log.spans[r.Partition] = s
		r.Recycle()
	}
	log.rows += int64(len(records))
	return nil
}
