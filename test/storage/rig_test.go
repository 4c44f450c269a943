//go:build services

package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/plugins/kafka-source/source"
	"github.com/twg-io/twg/sdk"
)

const patience = 90 * time.Second

// settings are a plugin's.
type settings map[string]any

func configure(t *testing.T, p sdk.Plugin, s settings) sdk.Capabilities {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	caps, diags := p.Configure(sdk.NewSettings(text))
	if diags.HasErrors() {
		t.Fatalf("configure: %+v", diags)
	}
	return caps
}

// topic is a topic of one partition, and who writes and looks at it.
type topic struct {
	t       *testing.T
	name    string
	group   string
	brokers []string
	client  *kgo.Client
	admin   *kadm.Client
}

func newTopic(t *testing.T, brokers []string, name string) *topic {
	t.Helper()
	p := &topic{t: t, name: name, group: "g"}
	p.connect(brokers)
	if _, err := p.admin.CreateTopic(t.Context(), 1, 1, nil, name); err != nil {
		t.Fatal(err)
	}
	return p
}

// as is the topic as another group reads it.
func (p *topic) as(group string) *topic {
	q := *p
	q.group = group
	return &q
}

// connect uses a new client, which knows nothing of what was before.
func (p *topic) connect(brokers []string) {
	p.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(), kgo.MetadataMinAge(250*time.Millisecond), kgo.MetadataMaxAge(time.Second))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(client.Close)
	p.brokers, p.client, p.admin = brokers, client, kadm.NewClient(client)
}

// produce writes n records whose values begin with a word.
func (p *topic) produce(word string, n int) {
	p.t.Helper()
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{Topic: p.name, Value: fmt.Appendf(nil, "%s %d", word, i)})
	}
	if err := p.client.ProduceSync(p.t.Context(), rs...).FirstErr(); err != nil {
		p.t.Fatal(err)
	}
}

// committed is what the group holds, and what stands beside it.
func (p *topic) committed() (int64, string) {
	p.t.Helper()
	held, err := p.admin.FetchOffsets(p.t.Context(), p.group)
	if err != nil {
		return sdk.NoPosition, err.Error()
	}
	o, ok := held.Lookup(p.name, 0)
	if !ok {
		return sdk.NoPosition, ""
	}
	return o.At, o.Metadata
}

// store is where a sink's rows go.
type store interface {
	// plugin is a new process of the sink.
	plugin(t *testing.T) (sdk.Sink, sdk.Capabilities)
	// rows are the values, by incarnation and position.
	rows(t *testing.T) map[string]map[int64]string
}

// host is a pipeline that runs.
type host struct {
	t      *testing.T
	topic  *topic
	pipe   *pipeline.Pipeline
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once done
	log    *logged
}

// run starts a pipeline from a topic to a store.
func run(t *testing.T, p *topic, s store, change func(*pipeline.Config)) *host {
	t.Helper()
	h := &host{t: t, topic: p, done: make(chan struct{}), log: new(logged)}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	src := source.New(log)
	cfg := pipeline.Config{Name: p.name, Owner: "host", Source: src, Logger: log, OnGap: pipeline.GapContinue, MaxAckDelay: 200 * time.Millisecond}
	cfg.SourceCaps = configure(t, src, settings{"brokers": p.brokers, "topics": []string{p.name}, "group": p.group,
		"session_timeout": "3s", "heartbeat_interval": "300ms", "metadata_max_age": "1s", "fetch_max_wait": "50ms", "startup_timeout": "60s"})
	cfg.Sink, cfg.SinkCaps = s.plugin(t)
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.pipe, h.cancel = pipeline.New(cfg), cancel
	go func() {
		defer close(h.done)
		h.err = h.pipe.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-h.done
		if t.Failed() {
			t.Logf("%s", h.log)
		}
	})
	return h
}

// stop ends it in good order.
func (h *host) stop() {
	h.t.Helper()
	h.cancel()
	if err := h.ended(); err != nil {
		h.t.Fatalf("the pipeline ended: %v", err)
	}
}

// ended waits for the end, and says why.
func (h *host) ended() error {
	h.t.Helper()
	select {
	case <-h.done:
		return h.err
	case <-time.After(patience):
		h.t.Fatal("the pipeline does not end")
		return nil
	}
}

// until polls while the pipeline has to run.
func (h *host) until(what string, ok func() bool) {
	h.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !ok(); {
		select {
		case <-h.done:
			h.t.Fatalf("not in time: %s: the pipeline has ended: %v", what, h.err)
		case <-late:
			h.t.Fatalf("not in time: %s; %+v", what, h.pipe.Status())
		case <-tick.C:
		}
	}
}

// untilCommitted waits for a position at the broker.
func (h *host) untilCommitted(want int64) {
	h.t.Helper()
	h.until(fmt.Sprintf("commit of %d", want), func() bool { at, _ := h.topic.committed(); return at == want })
}

// want checks which rows the store holds: by incarnation, the word that their
// values begin with and how many there are. They begin at first.
func want(t *testing.T, s store, incarnation string, first int64, words ...string) {
	t.Helper()
	rows := s.rows(t)[incarnation]
	if len(rows) != len(words) {
		t.Errorf("%d rows of incarnation %q, want %d", len(rows), incarnation, len(words))
	}
	for i, w := range words {
		if got := rows[first+int64(i)]; !strings.HasPrefix(got, w+" ") {
			t.Fatalf("the row at %d of incarnation %q is %q, want one of %q", first+int64(i), incarnation, got, w)
		}
	}
}

// words repeats a word.
func words(word string, n int) []string { return strings.Fields(strings.Repeat(word+" ", n)) }

// logged keeps what was logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
