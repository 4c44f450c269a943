package plugins

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// fakeSource has one stream, whose records its settings describe.
type fakeSource struct {
	set    fakeSettings
	ev     sdk.Events
	cancel context.CancelFunc
	wg     sync.WaitGroup
	marks  []sdk.Mark
}

var fakeStream = sdk.Stream{Cluster: "c", Topic: "t"}

func (s *fakeSource) Describe() sdk.Description {
	return sdk.Description{Name: "source", Version: "1", Kind: sdk.KindSource}
}

func (s *fakeSource) Configure(set sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	var diags sdk.Diagnostics
	s.set, diags = parse(set)
	return sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginReplayable}, diags
}

func (s *fakeSource) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	s.ev = ev
	return s, ev.Assigned(ctx, []sdk.Assignment{{Stream: fakeStream, Committed: sdk.NoPosition, Initial: sdk.StartEarliest}})
}

func (s *fakeSource) Resolve(_ context.Context, qs []sdk.Query) ([]sdk.Resolved, error) {
	return []sdk.Resolved{{Stream: qs[0].Stream, Position: 11}}, nil
}

func (s *fakeSource) Start(_ context.Context, starts []sdk.Start) error {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.wg.Add(1)
	go func() { defer s.wg.Done(); s.read(ctx, starts[0]) }()
	return nil
}

// read sends everything as one frame, whatever its size, as credit allows.
func (s *fakeSource) read(ctx context.Context, st sdk.Start) {
	if _, err := s.ev.WaitCredit(ctx); err != nil {
		return
	}
	var b frame.Builder
	k := b.Stream(st.Stream)
	for i := range s.set.Records {
		b.Append(k, &frame.Record{Position: st.Position + int64(i), Value: make([]byte, s.set.Size)})
	}
	buf, err := b.Encode(nil)
	if err != nil {
		s.ev.Fail(err)
		return
	}
	v, err := frame.Open(buf)
	if err != nil {
		s.ev.Fail(err)
		return
	}
	s.ev.Batch(ctx, &sdk.Batch{Frame: v, Spans: []sdk.Span{{Stream: st.Stream, From: st.Position, Next: st.Position + int64(s.set.Records), Run: st.Run}}})
	s.ev.Ended([]uint64{st.Run})
}

func (s *fakeSource) Commit(_ context.Context, marks []sdk.Mark) []error {
	s.marks = append(s.marks, marks...)
	return nil
}

func (s *fakeSource) Drop(context.Context, []uint64) error { return nil }

func (s *fakeSource) Close(ctx context.Context) error {
	if s.cancel != nil {
		s.cancel()
	}
	s.wg.Wait()
	slog.Info("closing") // nobody may read it any more
	if s.set.Mark != "" {
		return os.WriteFile(s.set.Mark, fmt.Appendf(nil, "closed %v, %d commits", ctx.Err(), len(s.marks)), 0o644)
	}
	return nil
}
