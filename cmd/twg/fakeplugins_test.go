package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// fakeLauncher has plugins in the test's own process.
type fakeLauncher struct{}

func newFakeLauncher(string, *slog.Logger) (launcher, error) { return fakeLauncher{}, nil }

func (fakeLauncher) plugin(name string) (sdk.Plugin, error) {
	switch name {
	case "numbers":
		return &numbers{}, nil
	case "memory":
		return &memory{}, nil
	case "vault":
		return &vault{}, nil
	case "broken":
		return nil, fmt.Errorf("plugins/twg-plugin-broken is no plugin")
	}
	return nil, fmt.Errorf("%w: %q", errNoPlugin, name)
}

func (l fakeLauncher) ask(_ context.Context, name string) (*process, error) {
	p, err := l.plugin(name)
	if err != nil {
		return nil, err
	}
	digest := func() (string, error) { return "0123456789abcdef0123", nil }
	return &process{Plugin: p, File: "plugins/twg-plugin-" + name, digest: digest}, nil
}

func (l fakeLauncher) configured(p *checkedPlugin) (sdk.Plugin, error) {
	plugin, err := l.plugin(p.description.Name)
	if err != nil {
		return nil, err
	}
	if _, diags := plugin.Configure(p.settings); diags.HasErrors() {
		return nil, fmt.Errorf("configure: %v", diags)
	}
	return plugin, nil
}

func (l fakeLauncher) source(_ context.Context, p *checkedPlugin) (sdk.Source, error) {
	plugin, err := l.configured(p)
	if err != nil {
		return nil, err
	}
	return plugin.(sdk.Source), nil
}

func (l fakeLauncher) sink(_ context.Context, p *checkedPlugin) (sdk.Sink, error) {
	plugin, err := l.configured(p)
	if err != nil {
		return nil, err
	}
	return plugin.(sdk.Sink), nil
}

func (fakeLauncher) pids() []int { return nil }
func (fakeLauncher) close()      {}
func (fakeLauncher) kill()       {}

// numbersSettings configure the fake source.
type numbersSettings struct {
	Count  int    `twg:"count,required" doc:"how many records there are"`
	Token  string `twg:"token,sensitive" doc:"how to log in"`
	Mode   string `twg:"mode" default:"replayable" validate:"oneof=replayable|once|store|resumable|arrival" doc:"what the source can do"`
	Broken string `twg:"broken" doc:"if set, opening fails with this text and the token"`
	Absent string `twg:"absent" doc:"a topic that is to be read and is not there"`
	Struck string `twg:"struck" doc:"a file; the process that finds and removes it is killed"`
}

// numbers is a source of one stream with records 0, 1, 2, ....
type numbers struct{ set numbersSettings }

func (n *numbers) Describe() sdk.Description {
	return sdk.Description{Name: "numbers", Version: "1.2.3", Kind: sdk.KindSource, Schema: sdk.SchemaOf(n.set)}
}

func (n *numbers) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	caps := sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginReplayable}
	diags := s.Decode(&n.set)
	if n.set.Struck != "" && os.Remove(n.set.Struck) == nil {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	caps.Topics = []string{numbersStream.Topic, n.set.Absent}
	switch n.set.Mode {
	case "once":
		caps.Origin = sdk.OriginNonReplayable
	case "store":
		caps.Position = sdk.PositionStore
	case "resumable":
		caps.Position, caps.Origin = sdk.PositionStore, sdk.OriginResumable
	case "arrival":
		caps.Position, caps.Origin = sdk.PositionStore, sdk.OriginNonReplayable
	}
	return caps, diags
}

func (n *numbers) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	if n.set.Broken != "" {
		return nil, sdk.Errorf(sdk.KindRetryable, "reach server", "%s %s", n.set.Broken, n.set.Token)
	}
	life, cancel := context.WithCancel(context.Background())
	r := &numbersReader{set: n.set, ev: ev, life: life, cancel: cancel}
	r.wg.Go(func() {
		topics := []sdk.Topic{{Name: numbersStream.Topic, Presence: sdk.TopicThere}}
		if n.set.Absent != "" {
			topics = append(topics, sdk.Topic{Name: n.set.Absent, Presence: sdk.TopicAbsent, Reason: "it does not exist; create it"})
		}
		ev.Topics(topics)
		_ = ev.Assigned(life, []sdk.Assignment{{Stream: numbersStream, Committed: sdk.NoPosition, Initial: sdk.StartEarliest}})
	})
	return r, nil
}

var numbersStream = sdk.Stream{Cluster: "c", Topic: "numbers", Incarnation: "1"}

type numbersReader struct {
	set    numbersSettings
	ev     sdk.Events
	life   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func (r *numbersReader) Resolve(_ context.Context, qs []sdk.Query) ([]sdk.Resolved, error) {
	out := make([]sdk.Resolved, len(qs))
	for i, q := range qs {
		out[i] = sdk.Resolved{Stream: q.Stream}
	}
	return out, nil
}

func (r *numbersReader) Start(_ context.Context, starts []sdk.Start) error {
	for _, s := range starts {
		r.wg.Go(func() { r.deliver(s) })
	}
	return nil
}

// deliver sends ten records a frame.
func (r *numbersReader) deliver(s sdk.Start) {
	end := int64(r.set.Count)
	r.ev.Lag([]sdk.Lag{{Stream: s.Stream, Run: s.Run, End: end, AtMS: 1}})
	for at := s.Position; at < end; {
		if _, err := r.ev.WaitCredit(r.life); err != nil {
			return
		}
		next := min(at+10, end)
		batch, err := numbersBatch(s, at, next)
		if err != nil || r.ev.Batch(r.life, batch) != nil {
			return
		}
		at = next
	}
}

func numbersBatch(s sdk.Start, from, next int64) (*sdk.Batch, error) {
	var b frame.Builder
	k := b.Stream(s.Stream)
	for i := from; i < next; i++ {
		b.Append(k, &frame.Record{Position: i, Value: strconv.AppendInt(nil, i, 10)})
	}
	text, err := b.Encode(nil)
	if err != nil {
		return nil, err
	}
	view, err := frame.Open(text)
	if err != nil {
		return nil, err
	}
	return &sdk.Batch{Frame: view, Spans: []sdk.Span{{Stream: s.Stream, From: from, Next: next, Run: s.Run}}}, nil
}

func (r *numbersReader) Commit(context.Context, []sdk.Mark) []error { return nil }
func (r *numbersReader) Drop(context.Context, []uint64) error       { return nil }

func (r *numbersReader) Close(context.Context) error {
	r.cancel()
	r.wg.Wait()
	return nil
}

// memorySettings configure the fake sink.
type memorySettings struct {
	File   string `twg:"file" doc:"where to write how many records came"`
	Secret string `twg:"secret,sensitive" doc:"how to log in"`
	Caps   string `twg:"caps" default:"{}" doc:"capabilities that it claims besides durable, as JSON"`
	Refuse int    `twg:"refuse" doc:"refuse the record at this position; 0: none"`
	Hang   bool   `twg:"hang" doc:"take records and never confirm them"`
}

// memory is a sink that calls everything durable at once.
type memory struct {
	set memorySettings
	mu  sync.Mutex
	n   int
}

func (m *memory) Describe() sdk.Description {
	return sdk.Description{Name: "memory", Version: "0.9", Kind: sdk.KindSink, Schema: sdk.SchemaOf(m.set)}
}

func (m *memory) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	diags := s.Decode(&m.set)
	caps := sdk.Capabilities{Durable: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, Targets: []string{"file " + m.set.File}}
	if err := json.Unmarshal([]byte(m.set.Caps), &caps); err != nil {
		diags.Errorf("caps", "Not JSON", "Write an object. It begins with "+m.set.Secret)
	}
	return caps, diags
}

func (m *memory) Open(ctx context.Context, s sdk.Session) (sdk.Writer, error) {
	return sdk.Sync(m, m.write).Open(ctx, s)
}

func (m *memory) write(ctx context.Context, b *sdk.Batch) (sdk.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range b.Spans {
		if p := int64(m.set.Refuse); p > 0 && b.Spans[i].From <= p && p < b.Spans[i].Next {
			r := sdk.AllOutcome(0, b, sdk.Rejected, "it is the one")
			r.Outcomes[i].Rejected = []sdk.RejectedRow{{Position: p, Reason: "it is the one"}}
			return r, nil
		}
	}
	m.n += b.NumRows()
	if err := m.note(); err != nil || !m.set.Hang {
		return sdk.AllDurable(0, b), err
	}
	<-ctx.Done()
	return sdk.Receipt{}, ctx.Err()
}

// note writes how many records came.
func (m *memory) note() error {
	if m.set.File == "" {
		return nil
	}
	return os.WriteFile(m.set.File, []byte(strconv.Itoa(m.n)+"\n"), 0o644)
}
