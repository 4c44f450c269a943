// Command twg-plugin-jsonl-later is a sink that is not durable at receipt: it
// gathers lines in memory and writes and fsyncs them when the host asks it to
// flush. It can be a secondary, with durable = false. docs/plugin-guide.md,
// "Capabilities", says what such a sink owes the host.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/serve"
)

func main() { serve.Main(&later{}) }

type later struct {
	Path string `twg:"path,required" validate:"min=1" doc:"file to append to; its directory must exist"`
}

// line is a record. A line that cannot be read is what a crash has left of one.
type line struct {
	ID        string
	Topic     string
	Partition int32
	frame.Record
}

// maxLines bounds what waits in memory: above it the sink flushes by itself.
const maxLines = 4 << 20

func (l *later) Describe() sdk.Description {
	return sdk.Description{Name: "jsonl-later", Version: "0.1.0", Kind: sdk.KindSink,
		Doc: "Records as lines of JSON, written and fsynced when the host asks for it. A crash can repeat lines.", Schema: sdk.SchemaOf(later{})}
}

func (l *later) Configure(set sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	diags := set.Decode(l)
	caps := sdk.Capabilities{DurableFlush: true, AppendOnly: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, Targets: []string{"file " + l.Path}}
	return caps, diags
}

func (l *later) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	return &writer{path: l.Path, ses: ses}, nil
}

// writer is a session. What it has gathered and not flushed dies with it.
type writer struct {
	path string
	ses  sdk.Session

	mu    sync.Mutex
	lines bytes.Buffer
	taken uint64 // the newest batch that is in lines, or was
	asked uint64 // flush once this one is there
}

// Write answers as soon as the rows are in memory.
func (w *writer) Write(_ context.Context, b *sdk.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			stream := b.Frame.Stream(b.Frame.StreamIndex(i))
			l := line{ID: fmt.Sprintf("%x", b.ID(i)), Topic: stream.Topic, Partition: stream.Partition}
			b.Frame.Record(i, &l.Record)
			if err := json.NewEncoder(&w.lines).Encode(l); err != nil {
				return err
			}
		}
	}
	w.taken = b.Seq
	w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Written, ""))
	if w.taken >= w.asked && w.asked > 0 || w.lines.Len() > maxLines {
		return w.flush()
	}
	return nil
}

// Flush can come before its batches; then Write does it.
func (w *writer) Flush(_ context.Context, seq uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = max(w.asked, seq)
	if w.taken < seq {
		return nil
	}
	return w.flush()
}

// flush makes durable what was gathered and tells the host. w.mu is held.
func (w *writer) flush() error {
	if w.asked <= w.taken {
		w.asked = 0
	}
	if w.lines.Len() > 0 {
		if err := appendDurably(w.path, w.lines.Bytes()); err != nil {
			return sdk.Errorf(sdk.KindRetryable, "append to "+w.path, "%w", err)
		}
		w.lines.Reset()
	}
	w.ses.Flushed(w.taken)
	return nil
}

// Close flushes, or, if it is an abort, lets go.
func (w *writer) Close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil || w.taken == 0 {
		return nil
	}
	return w.flush()
}

// appendDurably appends whole lines in one write, so that two processes may
// append beside each other. It begins with an empty line: what a crash has left
// of a line stays a line of its own.
func appendDurably(path string, lines []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(append([]byte("\n"), lines...)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
