//go:build services

package storage

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

func fake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("storage"), kfake.GroupMinSessionTimeout(100 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A broker that knew no topic ids is replaced by one that does: the stream keeps
// the empty incarnation, and so its ids and its coverage. A topic that is
// created again after that is another stream.
func TestBrokerNamesItsTopicsLater(t *testing.T) {
	both(t, func(t *testing.T, s store) {
		dir := t.TempDir()
		old := fake(t, kfake.DataDir(dir), kfake.MaxVersions(kversion.V2_7_0()))
		p := newTopic(t, old.ListenAddrs(), "orders")
		p.produce("a", 100)
		h := run(t, p, s, nil)
		h.untilCommitted(100)
		h.stop()
		want(t, s, "", 0, words("a", 100)...)

		_, port, err := net.SplitHostPort(old.ListenAddrs()[0])
		if err != nil {
			t.Fatal(err)
		}
		old.Close()
		n, _ := strconv.Atoi(port)
		anew := fake(t, kfake.DataDir(dir), kfake.Ports(n))
		p.connect(anew.ListenAddrs())
		p.produce("b", 50)
		for range 2 { // the second start finds what the first has recorded
			h = run(t, p, s, nil)
			h.untilCommitted(150)
			h.stop()
		}
		want(t, s, "", 0, append(words("a", 100), words("b", 50)...)...)
		_, meta := p.committed()
		if !strings.Contains(meta, `"id":"`) || strings.Contains(meta, `"inc"`) {
			t.Errorf("committed with %s", meta)
		}
		if len(s.rows(t)) != 1 {
			t.Errorf("rows of %d incarnations, want one", len(s.rows(t)))
		}

		createdAgain(t, p, s, anew.ListenAddrs())
	})
}

// createdAgain: the topic is deleted and made again, and what is written to it
// then is another stream's.
func createdAgain(t *testing.T, p *topic, s store, addrs []string) {
	t.Helper()
	if _, err := p.admin.DeleteTopic(t.Context(), p.name); err != nil {
		t.Fatal(err)
	}
	if _, err := p.admin.CreateTopic(t.Context(), 1, 1, nil, p.name); err != nil {
		t.Fatal(err)
	}
	p.connect(addrs)
	p.produce("c", 70)
	h := run(t, p, s, nil)
	h.untilCommitted(70)
	h.stop()
	want(t, s, "", 0, append(words("a", 100), words("b", 50)...)...)
	for incarnation := range s.rows(t) {
		if incarnation != "" {
			want(t, s, incarnation, 0, words("c", 70)...)
		}
	}
	if len(s.rows(t)) != 2 {
		t.Errorf("rows of %d incarnations, want two", len(s.rows(t)))
	}
}
