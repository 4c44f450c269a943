package source

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/twg-io/twg/sdk"
)

// While no broker answers, the host is told so of every topic, and taken back
// when one does; what is absent stays so.
func TestSilenceIsTold(t *testing.T) {
	dir := t.TempDir()
	first := newBroker(t, kfake.DataDir(dir))
	first.create(1, "t", nil)
	first.fill("t", 0, 0, 5)
	h := newHost(t).open(first.settings("g", "t", "none"))
	h.untilRows(5)
	there := sdk.Topic{Name: "t", Presence: sdk.TopicThere}
	h.until("word of the topics", func() bool { return len(h.topics) > 0 && h.topics[len(h.topics)-1][0] == there })

	_, text, _ := net.SplitHostPort(first.ListenAddrs()[0])
	var port int
	fmt.Sscan(text, &port)
	first.Cluster.Close()
	h.until("word of the brokers' silence", func() bool {
		last := h.topics[len(h.topics)-1]
		return last[0].Presence == sdk.TopicPending && strings.Contains(last[0].Reason, "do not answer") && last[1].Presence == sdk.TopicAbsent
	})
	newBroker(t, kfake.DataDir(dir), kfake.Ports(port))
	h.until("word that the topic is there again", func() bool { return h.topics[len(h.topics)-1][0] == there })
}
