package tap

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// seen are the requests that a tap has shown.
type seen struct {
	mu   sync.Mutex
	list []Request
}

func (s *seen) show(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, r)
}

func (s *seen) all() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// tapped is a cluster, a tap before it, and a client that knows no other way.
func tapped(t *testing.T, keys ...int16) (*Tap, *seen, *kgo.Client) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s := &seen{}
	p, err := New(keys, s.show)
	if err != nil {
		t.Fatal(err)
	}
	p.To(c.ListenAddrs()[0])
	t.Cleanup(p.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(p.Addr()), kgo.ClientID("me"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, p.Addr())
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return p, s, client
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestRequestsAreShownAndPassedOn(t *testing.T) {
	p, s, client := tapped(t, int16(kmsg.Fetch), int16(kmsg.OffsetCommit))
	ctx := within(t)
	for _, value := range [][]byte{[]byte("a"), make([]byte, 900_000)} {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < 2; {
		n += client.PollFetches(ctx).NumRecords()
		if ctx.Err() != nil {
			t.Fatal("the records do not come back")
		}
	}
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "t", At: 2})
	if err := kadm.NewClient(client).CommitAllOffsets(ctx, "g", offsets); err != nil {
		t.Fatal(err)
	}
	var fetched, committed bool
	for _, r := range s.all() {
		if r.Client != "me" || r.Peer == nil {
			t.Errorf("client %q at %v", r.Client, r.Peer)
		}
		switch q := r.Body.(type) {
		case *kmsg.FetchRequest:
			fetched = fetched || q.Topics[0].Partitions[0].FetchOffset == 0
		case *kmsg.OffsetCommitRequest:
			committed = committed || q.Topics[0].Partitions[0].Offset == 2
		default:
			t.Errorf("shown %T, which was not asked for", q)
		}
	}
	if !fetched || !committed {
		t.Errorf("fetch shown: %t, commit shown: %t", fetched, committed)
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

func TestShutRefusesAndOpenServesAgain(t *testing.T) {
	p, _, client := tapped(t)
	ctx := within(t)
	p.Shut()
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		c.Close()
		t.Error("a tap that is shut takes connections")
	}
	if err := p.Open(); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(ctx); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version = 9
	f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, r, 7)[4:])
	f.Add([]byte{0, 1, 0, 12, 0, 0, 0, 0, 255, 255, 1, 1, 200})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headBytes-4 {
			return
		}
		_, _, _ = parse(b)
	})
}
