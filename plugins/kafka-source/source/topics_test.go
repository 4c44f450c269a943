package source

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/twg-io/twg/sdk"
)

// toldLast waits until the newest that the host was told about topics is want.
func (h *host) toldLast(want ...sdk.Topic) {
	h.t.Helper()
	h.until("word of the topics", func() bool { return len(h.topics) > 0 && slices.Equal(h.topics[len(h.topics)-1], want) })
}

func there(name string) sdk.Topic { return sdk.Topic{Name: name, Presence: sdk.TopicThere} }

func unknown(name string) sdk.Topic { return absent(name, kerr.UnknownTopicOrPartition) }

// TestTopicsAreTold: the host hears which topics are not there, before it is
// given any stream, and once each that they have come.
func TestTopicsAreTold(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "here", nil)
	h := newHost(t).open(b.settings("g", "here", "later"))
	h.toldLast(there("here"), unknown("later"))
	h.until("a stream", func() bool { return len(h.assigned) == 1 })
	b.create(1, "later", nil)
	h.toldLast(there("here"), there("later"))
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.topics) != 2 {
		t.Errorf("told %d times, want only what has changed: %+v", len(h.topics), h.topics)
	}
}

// TestPartitionsThatAreNotThere: where the settings name partitions, a topic
// may be there in part.
func TestPartitionsThatAreNotThere(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(2, "t", nil)
	set := b.settings("", "t")
	set.Partitions = []string{"0-3"}
	h := newHost(t).open(set)
	h.toldLast(there("t"), sdk.Topic{Name: "t", Presence: sdk.TopicAbsent, Reason: "it has no partition 2; add it, or correct partitions"})
}

func TestWhyATopicCannotBeRead(t *testing.T) {
	for err, want := range map[error]struct {
		presence sdk.Presence
		text     string
	}{
		kerr.UnknownTopicOrPartition:  {sdk.TopicAbsent, "create it"},
		kerr.TopicAuthorizationFailed: {sdk.TopicAbsent, "allow DESCRIBE and READ"},
		kerr.InvalidTopicException:    {sdk.TopicAbsent, "correct topics"},
		kerr.LeaderNotAvailable:       {sdk.TopicPending, "LEADER_NOT_AVAILABLE"},
		errors.New("say nothing"):     {sdk.TopicPending, "say nothing"},
	} {
		if got := absent("t", err); got.Presence != want.presence || !strings.Contains(got.Reason, want.text) {
			t.Errorf("%v: %+v, want %v with %q", err, got, want.presence, want.text)
		}
	}
	if got := absent("t", nil); got.Presence != sdk.TopicPending || got.Reason == "" {
		t.Errorf("no word of it: %+v", got)
	}
}

// TestTheHostsBoundForTheFirstContact: it counts where it is below
// startup_timeout, and the reason is still that of the last attempt.
func TestTheHostsBoundForTheFirstContact(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	set := (&broker{t: t, Cluster: newBroker(t).Cluster}).settings("g", "t")
	set.Brokers, set.StartupTimeout = []string{addr}, time.Hour
	h := newHost(t)
	h.limits.ConnectWithin = 500 * time.Millisecond
	h.open(set)
	h.until("failure", func() bool { return len(h.failed) > 0 })
	if text := h.failed[0].Error(); !strings.Contains(text, "none answered within 500ms") || !strings.Contains(text, "refused") {
		t.Errorf("%q, want the host's bound and why nobody answered", text)
	}
}

// TestShares: what a second pipeline would get a part of, whatever the order
// in which it names the brokers.
func TestShares(t *testing.T) {
	caps := func(text string) sdk.Capabilities {
		c, d := New(nil).Configure(sdk.NewSettings([]byte(text)))
		if d.HasErrors() {
			t.Fatal(d)
		}
		return c
	}
	one := caps(`{"brokers": ["a:1", "b:1"], "topics": ["x", "y"], "group": "g"}`).Shares
	two := caps(`{"brokers": ["b:1", "a:1"], "topics": ["y", "z"], "group": "g"}`).Shares
	if len(one) != 2 || one[0] == one[1] || one[1] != two[0] {
		t.Errorf("%q and %q, want them to have topic y in common", one, two)
	}
	if named := caps(`{"brokers": ["a:1"], "topics": ["x"], "partitions": ["0"]}`); named.Shares != nil {
		t.Errorf("named partitions are shared with nobody: %q", named.Shares)
	}
}
