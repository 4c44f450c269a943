// Command yardstick is the tightest one-process loop from Kafka to Parquet, or
// with -dsn to PostgreSQL, that keeps twg's promise: an offset is committed
// only after the file that holds the record was closed, synced, linked and its
// directory synced, or after the transaction was committed. It shares no code
// with the product, on purpose: `go run ./bench` measures the product against
// it.
//
// It reads -records records, then prints one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

type config struct {
	brokers     []string
	topic       string
	group       string
	dir         string
	records     int64
	rowsPerFile int64

	dsn, table string // dsn is empty: files
	rowsPerTx  int64
}

// writeFunc drains the polls.
type writeFunc func(context.Context, config, *reader, <-chan poll) (summary, error)

// open makes what is written to.
func open(ctx context.Context, c config) (w writeFunc, done func(), err error) {
	if c.dsn == "" {
		return write, func() {}, nil
	}
	t, err := openTable(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return t.writeAll, t.close, nil
}

// summary is what is printed. The names are those of `twg run --json`.
type summary struct {
	Records       int64     `json:"records"`
	FirstRecordAt time.Time `json:"first_record_at"`
	AllDurableAt  time.Time `json:"all_durable_at"`
}

func main() {
	var c config
	brokers := flag.String("brokers", "", "broker addresses, comma-separated")
	flag.StringVar(&c.topic, "topic", "", "topic to read")
	flag.StringVar(&c.group, "group", "", "consumer group")
	flag.StringVar(&c.dir, "dir", "", "directory to write to; must exist")
	flag.Int64Var(&c.records, "records", 0, "how many records to read")
	flag.Int64Var(&c.rowsPerFile, "rows-per-file", 100_000, "rows that are made durable together")
	flag.StringVar(&c.dsn, "dsn", "", "database to write to, instead of -dir")
	flag.StringVar(&c.table, "table", "raw", "table to make there, in lower case")
	flag.Int64Var(&c.rowsPerTx, "rows-per-tx", 5000, "rows of a transaction, about")
	flag.Parse()
	c.brokers = strings.Split(*brokers, ",")
	s, err := run(context.Background(), c)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "yardstick:", err)
		os.Exit(1)
	}
}

// run overlaps reading with writing: the queue between them holds at most
// queueDepth polls of maxPoll records.
func run(ctx context.Context, c config) (summary, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w, done, err := open(ctx, c)
	if err != nil {
		return summary{}, err
	}
	defer done()
	r, err := newReader(ctx, c)
	if err != nil {
		return summary{}, err
	}
	defer r.close()
	polls := make(chan poll, queueDepth)
	written := make(chan summary, 1)
	go func() {
		s, err := w(ctx, c, r, polls)
		if err != nil {
			stop(err)
		}
		written <- s
	}()
	readErr := r.readAll(ctx, polls)
	s := <-written
	if err := context.Cause(ctx); err != nil {
		return summary{}, err
	}
	return s, readErr
}
