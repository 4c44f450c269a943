package source

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/twg-io/twg/sdk"
)

const (
	metadataMinAge  = 250 * time.Millisecond
	metadataAttempt = 5 * time.Second
)

// watchMetadata keeps the cluster's picture fresh, fetches from each broker
// that there is, and notices topics that were created anew.
func (r *reader) watchMetadata(ctx context.Context) {
	if !r.firstContact(ctx) {
		return
	}
	fetching := make(map[int32]bool)
	missing := make(map[string]string)
	for {
		r.refreshMetadata(ctx, missing)
		r.fetchFromAll(ctx, fetching)
		if !pause(ctx, metadataMinAge) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-r.metadataWanted:
		case <-time.After(r.metadataAge()):
		}
	}
}

// leaderEvery is how long to wait for the leader of a partition that has none,
// and for a topic that is not there.
const leaderEvery = time.Second

// metadataAge is how long the picture of the cluster is good enough. While a
// partition has no leader nobody fetches from it, and so nobody finds out that
// it has one again. The same is true of a topic that is not there.
func (r *reader) metadataAge() time.Duration {
	leaderless := func(x *run) bool {
		l, ok := r.cluster.leader(x)
		return !ok || l.broker < 0
	}
	if r.unread() || r.table.anyRun(leaderless) {
		return min(leaderEvery, r.set.MetadataMaxAge)
	}
	return r.set.MetadataMaxAge
}

// contactEvery is how long to wait between attempts to reach a broker.
const contactEvery = time.Second

// contactLeast is the least that the last attempt gets: without a moment to
// fail in, it could not tell why it did.
const contactLeast = 250 * time.Millisecond

// contactWithin is how long to try to reach a broker: the host's bound and our
// own setting both count.
func (r *reader) contactWithin() time.Duration {
	if bound := r.events.Limits().ConnectWithin; bound > 0 {
		return min(bound, r.set.StartupTimeout)
	}
	return r.set.StartupTimeout
}

// firstContact tries to reach a broker for as long as it may. False: there is
// nothing more to do.
func (r *reader) firstContact(ctx context.Context) bool {
	within := r.contactWithin()
	deadline := time.Now().Add(within)
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, min(metadataAttempt, max(time.Until(deadline), contactLeast)))
		err := r.cluster.reach(attempt)
		cancel()
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if failed := r.unreachable(err, time.Now().After(deadline)); failed != nil {
			r.events.Fail(failed)
			return false
		}
		r.warn("no broker answers, trying again", "", "brokers", strings.Join(r.set.Brokers, ","), "error", err)
		pause(ctx, min(contactEvery, within/4, max(time.Until(deadline), 0)))
	}
	return false
}

// unreachable is what to fail with, or nil to try again.
func (r *reader) unreachable(err error, late bool) error {
	op := "reach brokers " + strings.Join(r.set.Brokers, ", ")
	if why := refusal(err); why != "" {
		return sdk.Errorf(sdk.KindFatal, op, "%s: %w", why, err)
	}
	if !late {
		return nil
	}
	hint := ""
	if r.set.SASL != nil {
		hint = " (and sasl: a broker that refuses a password may just hang up)"
	}
	return sdk.Errorf(sdk.KindRetryable, op, "none answered within %s; check that they run and that the addresses are right%s: %w", r.contactWithin(), hint, err)
}

// refusal says what is wrong if trying again cannot help.
func refusal(err error) string {
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "the brokers refuse the user or the password; check sasl"
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return "the brokers do not offer that mechanism; check sasl.mechanism"
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "the user may not use the cluster"
	}
	return ""
}

func (r *reader) fetchFromAll(ctx context.Context, fetching map[int32]bool) {
	for _, id := range r.cluster.brokerIDs() {
		if !fetching[id] {
			fetching[id] = true
			r.wg.Go(func() { r.fetchFrom(ctx, id) })
		}
	}
}

func (r *reader) refreshMetadata(ctx context.Context, known map[string]string) {
	attempt, cancel := context.WithTimeout(ctx, metadataAttempt)
	defer cancel()
	missing, err := r.cluster.refresh(attempt)
	if err != nil {
		if ctx.Err() == nil {
			r.warn("no broker answers, trying again", "", "error", err)
			r.answered(err)
			r.wantMetadata()
		}
		return
	}
	if len(r.table.running()) == 0 { // else reportLag says it
		r.answered(nil)
	}
	r.survey(missing)
	r.logMissing(missing, known)
	r.replaceTopics()
	r.table.poke()
}

// logMissing says once what is wrong with a topic.
func (r *reader) logMissing(missing map[string]error, known map[string]string) {
	for topic := range known {
		if missing[topic] == nil {
			delete(known, topic)
			r.log.Info("topic is there", "topic", topic)
		}
	}
	for topic, err := range missing {
		if known[topic] != err.Error() {
			known[topic] = err.Error()
			r.log.Warn("topic cannot be read, waiting for it", "topic", topic, "error", err)
		}
	}
}

// replaceTopics ends the runs of topics that were deleted and created again,
// and announces their streams anew.
func (r *reader) replaceTopics() {
	now := r.cluster.current()
	for topic, id := range r.table.topicIDs() {
		info, ok := now[topic]
		if !ok || info.id == id {
			continue
		}
		r.announcing.Lock()
		r.recreated[topic] = true
		runs := r.table.replace(topic, info.id)
		r.announcing.Unlock()
		r.log.Warn("the topic was deleted and created again: it is another stream now", "topic", topic)
		if len(runs) > 0 {
			r.events.Lost(runs)
		}
		r.wantAnnouncement()
	}
}

// watchGroup reports what keeps the membership from working. The client has
// nothing to fetch: only errors come this way.
func (r *reader) watchGroup(ctx context.Context) {
	for ctx.Err() == nil {
		for _, e := range r.client.PollFetches(ctx).Errors() {
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(e.Err, kerr.GroupAuthorizationFailed):
				r.events.Fail(sdk.Errorf(sdk.KindFatal, "join group "+r.set.Group, "the user may not use it: allow READ on the group: %w", e.Err))
			case errors.Is(e.Err, kerr.InconsistentGroupProtocol):
				r.warn("the group has members that share out its partitions in another way, waiting until they are gone: stop them, or name another group", "", "group", r.set.Group, "ours", r.set.GroupProtocol, "error", e.Err)
			default:
				r.warn("group member", e.Topic, "topic", e.Topic, "partition", e.Partition, "error", e.Err)
			}
		}
	}
}
