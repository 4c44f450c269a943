package source

import (
	"fmt"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// TestBrokerRestart: the broker goes away with everything, and comes back at
// the same address with its state. The source goes on by itself.
func TestBrokerRestart(t *testing.T) {
	dir := t.TempDir()
	first := newBroker(t, kfake.DataDir(dir))
	first.create(2, "t", nil)
	first.fill("t", 0, 0, 50)
	first.fill("t", 1, 0, 50)
	h := newHost(t).open(first.settings("g", "t"))
	h.untilRows(100)
	first.untilCommitted("g", "t", 0, 50)
	first.untilCommitted("g", "t", 1, 50)
	var port int
	_, text, _ := net.SplitHostPort(first.ListenAddrs()[0])
	fmt.Sscan(text, &port)
	first.Cluster.Close()
	h.until("noticed", func() bool { return len(h.lost) > 0 || len(h.revoked) > 0 })
	second := newBroker(t, kfake.DataDir(dir), kfake.Ports(port))
	second.fill("t", 0, 50, 10)
	second.fill("t", 1, 50, 10)
	h.untilRows(120)
	second.untilCommitted("g", "t", 0, 60)
	second.untilCommitted("g", "t", 1, 60)
	seen := make(map[string]bool)
	for _, r := range h.got() {
		seen[fmt.Sprint(r.stream.Partition, r.position)] = true
	}
	if len(seen) != 120 {
		t.Errorf("%d records came, want all 120", len(seen))
	}
}
