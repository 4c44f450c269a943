package sdk

import (
	"context"
	"time"
)

// Sink writes batches durably. One process serves one configured sink; Open
// begins a session. Optional abilities (OffsetStore, Replayer) are further
// interfaces on the Sink, found by type assertion.
type Sink interface {
	Plugin
	// Open begins a session. Before it returns, all work of the previous
	// session of this target that this process did was committed or aborted.
	Open(context.Context, Session) (Writer, error)
}

// Session is one life of a sink's stream to the host.
type Session struct {
	// ID is never used again.
	ID uint64
	// Pipeline and Owner (host name and process, for people) say who writes.
	Pipeline string
	Owner    string
	Limits   Limits
	// Granularity is how fine the host commits: with GranularityRecord a sink
	// should answer as early as it can, also parts of a span.
	Granularity Granularity
	// Report hands a receipt to the host. Any goroutine may call it, it never
	// blocks, and it may come before Write has returned.
	Report func(Receipt)
	// Flushed tells the host that everything up to and including seq that this
	// session answered as Written is on stable storage now. Each batch up to
	// seq has all its outcomes by then, and seq never falls. Only of a sink
	// with DurableFlush; any goroutine may call it, also without having been
	// asked by Flush. It is never nil in a plugin.
	Flushed func(seq uint64)
	// Fail ends the session: what is unanswered will be sent again in a new
	// one. Only the first call counts; no Report may follow. Any goroutine.
	Fail func(error)
}

// Granularity is how far one receipt may move the committed position.
type Granularity uint8

const (
	// GranularityBatch: a batch's position moves once the whole batch is
	// durable.
	GranularityBatch Granularity = iota
	// GranularityRecord: a position moves with every durable record.
	GranularityRecord
)

func (g Granularity) String() string {
	if g == GranularityRecord {
		return "record"
	}
	return "batch"
}

// Limits bound what travels between host and plugin.
type Limits struct {
	// FrameRecords and FrameBytes are what a source should aim at for one
	// frame. A larger record travels alone, up to MaxRecordBytes.
	FrameRecords int
	FrameBytes   int
	// MaxRecordBytes bounds key + value + headers of one record.
	MaxRecordBytes int
	// ConnectWithin is how long to try to reach the plugin's server before Open
	// (of a source: Events.Fail) says why it was not reached. Zero: as long as
	// the plugin's own settings say, which may say less anyway.
	ConnectWithin time.Duration
}

// DefaultLimits is what the host uses unless it is told otherwise.
var DefaultLimits = Limits{FrameRecords: 2048, FrameBytes: 1 << 20, MaxRecordBytes: 64 << 20}

// Writer is a sink's open session. One Write at a time; Flush and Close may
// run beside it.
type Writer interface {
	// Write takes a batch. nil: accepted, its outcomes come by Report. It
	// blocks while the sink has no room (no credit); it must return when ctx
	// ends. An error ends the session, as Session.Fail does.
	Write(context.Context, *Batch) error
	// Close ends the session in good order: it makes durable and reports what
	// was accepted, or, when ctx ends first, aborts it. No Report follows.
	Close(context.Context) error
}

// Flusher is a Writer that can be asked for receipts before it would give
// them by itself. A sink that declares HoldsUntilClose or DurableFlush must
// implement it.
type Flusher interface {
	// Flush makes everything up to and including seq durable and answers it.
	// It may return before that is done; the receipts say so. It can overtake
	// batches: one up to seq may still be on its way, or wait in Write. Then it
	// holds for that batch too, once Write has taken it; and a Write that waits
	// for room must be let go on.
	//
	// A sink with DurableFlush makes what it answered as Written durable too,
	// and calls Session.Flushed.
	Flush(ctx context.Context, seq uint64) error
}

// Sync makes a sink from a function that makes a whole batch durable before
// it returns the batch's receipt. plugin supplies Describe and Configure.
func Sync(plugin Plugin, write func(context.Context, *Batch) (Receipt, error)) Sink {
	return syncSink{plugin, write}
}

type syncSink struct {
	Plugin
	write func(context.Context, *Batch) (Receipt, error)
}

func (s syncSink) Open(_ context.Context, ses Session) (Writer, error) {
	return syncWriter{s, ses}, nil
}

type syncWriter struct {
	sink syncSink
	ses  Session
}

func (w syncWriter) Write(ctx context.Context, b *Batch) error {
	r, err := w.sink.write(ctx, b)
	if err != nil {
		return err
	}
	r.Session, r.Seq = w.ses.ID, b.Seq
	w.ses.Report(r)
	return nil
}

func (w syncWriter) Close(context.Context) error { return nil }
