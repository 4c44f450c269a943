package rawread

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// page is how many rows one statement asks for. What they hold is not kept: a
// frame is cut, and handed on, as soon as it is full.
const page = 8192

// ByKey makes the transaction's queries walk along the key, however little the
// server knows of the table: sorting would read a whole window for each page.
const ByKey = "set local enable_sort = off; set local enable_bitmapscan = off; set local enable_seqscan = off"

// Reader reads one stream's rows through one connection, in the transaction
// that is open there. It is not safe for concurrent use, and reuses its memory
// for every batch.
type Reader struct {
	conn   *pgconn.PgConn
	sql    string
	stream sdk.Stream
	prefix uint16
	limits sdk.Limits

	build frame.Builder
	index int // of the stream in the frame that is built
	ids   []byte
	buf   []byte
	rec   frame.Record
}

// New returns a reader of a table, which is quoted. Frames are cut at limits.
func New(conn *pgconn.PgConn, table string, stream sdk.Stream, limits sdk.Limits) *Reader {
	return &Reader{conn: conn, stream: stream, prefix: Prefix(stream), limits: limits,
		sql: "select " + columns + " from " + table + ` where "_twg_record_id" between $1 and $2 and "cluster" = $3 and "topic" = $4 and "incarnation" = $5 and "partition" = $6` +
			fmt.Sprintf(` order by "_twg_record_id" limit %d`, page)}
}

// Read calls f with batches whose spans join and make up i, with the rows that
// are in it. A batch is valid until f returns; its memory is used again.
func (r *Reader) Read(ctx context.Context, i coverage.Interval, f func(*sdk.Batch) error) error {
	c := cutter{r: r, from: i.From, at: i.From, f: f}
	r.reset()
	for {
		n, err := r.page(ctx, coverage.Interval{From: c.at, Next: i.Next}, &c)
		if err != nil {
			return err
		}
		if n < page {
			return c.cut(i.Next)
		}
	}
}

func (r *Reader) reset() {
	r.build.Reset()
	r.index = r.build.Stream(r.stream)
	r.ids = r.ids[:0]
}

// page reads the first rows of i and returns how many there were.
func (r *Reader) page(ctx context.Context, i coverage.Interval, c *cutter) (n int, err error) {
	if i.Empty() {
		return 0, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, last := First(r.prefix, i.From), Last(r.prefix, i.Next-1)
	args := [][]byte{first[:], last[:], []byte(r.stream.Cluster), []byte(r.stream.Topic), []byte(r.stream.Incarnation), be.AppendUint32(nil, uint32(r.stream.Partition))}
	types := []uint32{2950, 2950, 25, 25, 25, 23} // uuid, text, int4
	rows := r.conn.ExecParams(ctx, r.sql, args, types, inBinary(len(args)), inBinary(numColumns))
	for rows.NextRow() {
		if err = c.row(rows.Values()); err != nil {
			cancel() // closes the connection; else Close would read the rest of the page
			break
		}
		n++
	}
	_, cerr := rows.Close()
	if err == nil {
		err = cerr
	}
	return n, err
}

func inBinary(n int) []int16 {
	out := make([]int16, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// cutter makes batches of rows.
type cutter struct {
	r    *Reader
	from int64 // where the next batch's span begins
	at   int64 // behind the last row
	f    func(*sdk.Batch) error
}

func (c *cutter) row(cols [][]byte) error {
	r := c.r
	id, err := decode(cols, &r.rec)
	if err != nil {
		return err
	}
	p := r.rec.Position
	if p < c.at || uint64(p)|uint64(r.prefix)<<48 != be.Uint64(id) {
		return sdk.Errorf(sdk.KindFatal, "", "record %x has position %d: a position is there twice, or the id is another record's; a person has to look at the table", id, p)
	}
	if size := r.build.Size() + len(r.rec.Key) + len(r.rec.Value); size > r.limits.FrameBytes && r.build.NumRecords() > 0 { // a large record travels alone
		if err := c.cut(p); err != nil {
			return err
		}
	}
	r.build.Append(r.index, &r.rec)
	r.ids = append(r.ids, id...)
	c.at = p + 1
	if r.build.NumRecords() >= r.limits.FrameRecords || r.build.Size() >= r.limits.FrameBytes {
		return c.cut(c.at)
	}
	return nil
}

// cut hands on what was collected, as the span up to next.
func (c *cutter) cut(next int64) (err error) {
	if next == c.from {
		return nil
	}
	r := c.r
	b := &sdk.Batch{IDs: r.ids, Spans: []sdk.Span{{Stream: r.stream, From: c.from, Next: next}}}
	if r.build.NumRecords() > 0 {
		if r.buf, err = r.build.Encode(r.buf[:0]); err != nil {
			return err
		}
		if b.Frame, err = frame.Open(r.buf); err != nil {
			return err
		}
	}
	if err := c.f(b); err != nil {
		return err
	}
	c.from = next
	r.reset()
	return nil
}
