package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

// ErrTopicsAbsent is in the chain of the error of a run that was to end once
// it has caught up, and cannot, because a topic is not there. Everything else
// is durable and committed.
var ErrTopicsAbsent = errors.New("not everything that is to be read is there")

// absentGrace is how long topics must have been absent before such a run gives
// up on them: a broker may not know yet of a topic that was just created.
const absentGrace = 2 * time.Second

// topics is what the source says about the topics that it is to read. Owned by
// the loop. The zero value: it has not said anything.
type topics struct {
	list []sdk.Topic
	// since is when the first of those that are absent now was found to be;
	// zero: none is.
	since time.Time
	// pendingSince is the same for those that are pending, and not in part only:
	// of those the other part is read elsewhere.
	pendingSince time.Time
	// said is what was logged last about what is waited for.
	said string
}

func (t *topics) see(list []sdk.Topic) {
	t.list = list
	date(&t.since, t.any(sdk.TopicAbsent))
	date(&t.pendingSince, slices.ContainsFunc(list, t.isPending))
}

// isPending reports whether nothing of the topic can be read, but soon.
func (t *topics) isPending(x sdk.Topic) bool {
	return x.Presence == sdk.TopicPending &&
		!slices.ContainsFunc(t.list, func(y sdk.Topic) bool { return y.Name == x.Name && y.Presence == sdk.TopicThere })
}

func date(since *time.Time, any bool) {
	switch {
	case !any:
		*since = time.Time{}
	case since.IsZero():
		*since = time.Now()
	}
}

func (t *topics) any(p sdk.Presence) bool {
	return slices.ContainsFunc(t.list, func(x sdk.Topic) bool { return x.Presence == p })
}

// nothingThere reports whether no stream is to be expected.
func (t *topics) nothingThere() bool {
	return len(t.list) > 0 && !t.any(sdk.TopicThere)
}

// pending is what is waited for; empty: nothing.
func (t *topics) pending() string {
	var parts []string
	for _, x := range t.list {
		if x.Presence == sdk.TopicPending {
			parts = append(parts, fmt.Sprintf("topic %q: %s", x.Name, x.Reason))
		}
	}
	return strings.Join(parts, "; ")
}

// absent is why the run cannot catch up, or nil.
func (t *topics) absent() error {
	var parts []string
	for _, x := range t.list {
		if x.Presence == sdk.TopicAbsent {
			parts = append(parts, fmt.Sprintf("topic %q cannot be read: %s", x.Name, x.Reason))
		}
	}
	if parts == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrTopicsAbsent, strings.Join(parts, "; "))
}

// endIfCaughtUp ends a run that is to end once it has caught up. While a topic
// is only about to be readable that is not so; if one is absent, the run ends
// with the reason, but not before the rest is done.
func (p *Pipeline) endIfCaughtUp() {
	if !p.cfg.UntilCaughtUp || p.stopping != nil || !p.caughtUp() {
		return
	}
	if wait := p.topics.pending(); wait != "" {
		if wait != p.topics.said {
			p.log.Info("caught up with what this host has; waiting for the rest", "for", wait)
		}
		p.topics.said = wait
		return
	}
	if err := p.topics.absent(); err == nil || time.Since(p.topics.since) >= absentGrace {
		p.stop(err)
	}
}
