// Command twg-plugin-jsonl is a complete sink: it appends records to a file,
// one JSON object a line. docs/plugin-guide.md walks through it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/serve"
)

func main() {
	s := &jsonl{}
	serve.Main(sdk.Sync(s, s.write))
}

type jsonl struct {
	Path string `twg:"path,required" validate:"min=1" doc:"file to append to; its directory must exist"`

	file appendFile
}

// line is a record. Bytes become base64, since they need not be text; null
// stays null, which is not the same as empty. By ID a reader can tell what a
// crash has repeated.
type line struct {
	ID        string
	Topic     string
	Partition int32
	frame.Record
}

func (s *jsonl) Describe() sdk.Description {
	return sdk.Description{Name: "jsonl", Version: "0.1.0", Kind: sdk.KindSink,
		Doc: "Records as lines of JSON, appended to a file. A crash can repeat lines.", Schema: sdk.SchemaOf(jsonl{})}
}

// memory is what waits for write, and a batch's lines: base64 and JSON take up
// to twice its bytes, in a buffer that grows by copying.
var memory = sdk.Memory{Usual: sdk.Garbage * (sdk.SinkCredit + 8<<20), Frames: sdk.Garbage * 8}

// Configure claims what this sink keeps and no more. It keeps no offsets, so
// what is sent again after a crash is there twice.
func (s *jsonl) Configure(set sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	diags := set.Decode(s)
	return sdk.Capabilities{Durable: true, AppendOnly: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, Targets: []string{"file " + s.Path}, Memory: memory}, diags
}

// write makes a whole batch durable before it returns the receipt.
func (s *jsonl) write(_ context.Context, b *sdk.Batch) (sdk.Receipt, error) {
	var lines bytes.Buffer
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			stream := b.Frame.Stream(b.Frame.StreamIndex(i))
			l := line{ID: fmt.Sprintf("%x", b.ID(i)), Topic: stream.Topic, Partition: stream.Partition}
			b.Frame.Record(i, &l.Record)
			if err := json.NewEncoder(&lines).Encode(l); err != nil {
				return sdk.Receipt{}, err
			}
		}
	}
	if err := s.file.append(s.Path, lines.Bytes()); err != nil {
		return sdk.Receipt{}, sdk.Errorf(sdk.KindRetryable, "append to "+s.Path, "%w", err)
	}
	return sdk.AllDurable(0, b), nil
}
