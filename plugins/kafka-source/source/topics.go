package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/twg-io/twg/sdk"
)

// tellTopics tells the host what became of the topics, when that has changed.
func (r *reader) tellTopics(missing map[string]error) {
	r.announcing.Lock() // so that what is told last is newest
	defer r.announcing.Unlock()
	now, behind := r.cluster.current(), r.behind()
	var list []sdk.Topic
	for _, name := range r.set.Topics {
		info, there := now[name]
		if !there {
			list = append(list, absent(name, missing[name]))
			continue
		}
		list = append(list, sdk.Topic{Name: name, Presence: sdk.TopicThere})
		if n, lacks := r.picked.lacks(info); lacks {
			list = append(list, sdk.Topic{Name: name, Presence: sdk.TopicAbsent,
				Reason: fmt.Sprintf("it has no partition %d; add it, or correct partitions", n)})
		}
	}
	lacking := slices.ContainsFunc(list, func(t sdk.Topic) bool { return t.Presence != sdk.TopicThere })
	for _, name := range r.set.Topics {
		if of := slices.DeleteFunc(slices.Clone(behind), func(x incarnated) bool { return x.topic != name }); len(of) > 0 {
			list = append(list, r.elsewhereTopic(of))
		}
	}
	r.missing, r.lacking, r.surveyed = missing, lacking, list
	r.tell()
}

// answered tells the host that the brokers answer, or with an error, that they
// do not: until they do, no topic can be read.
func (r *reader) answered(err error) {
	silence := ""
	if err != nil {
		silence = "the brokers " + strings.Join(r.set.Brokers, ", ") + " do not answer: " + err.Error()
	}
	r.announcing.Lock()
	defer r.announcing.Unlock()
	r.silence = silence
	if r.surveyed != nil { // the first word about the topics is a survey's
		r.tell()
	}
}

// tell is called with announcing held.
func (r *reader) tell() {
	list := slices.Clone(r.surveyed)
	for i := range list {
		if r.silence != "" && list[i].Presence == sdk.TopicThere {
			list[i].Presence, list[i].Reason = sdk.TopicPending, r.silence
		}
	}
	if !slices.Equal(list, r.told) {
		r.told = list
		r.events.Topics(list)
	}
}

// tellTopicsAgain is tellTopics when only what others have may have changed.
func (r *reader) tellTopicsAgain() {
	r.announcing.Lock()
	missing, told := r.missing, r.told != nil
	r.announcing.Unlock()
	if told {
		r.tellTopics(missing)
	}
}

// absent says why a topic cannot be read, and whether that ends by itself.
func absent(name string, err error) sdk.Topic {
	t := sdk.Topic{Name: name, Presence: sdk.TopicAbsent}
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		t.Reason = "it does not exist; create it, or correct topics"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		t.Reason = "the user may not read it; allow DESCRIBE and READ on it, or correct topics"
	case errors.Is(err, kerr.InvalidTopicException):
		t.Reason = "the brokers accept no topic of that name; correct topics"
	case err != nil:
		t.Presence, t.Reason = sdk.TopicPending, err.Error()
	default:
		t.Presence, t.Reason = sdk.TopicPending, "the brokers say nothing about it"
	}
	return t
}

// lacks returns the first partition that is named and not there.
func (p picked) lacks(info topicInfo) (n int32, lacks bool) {
	for _, n := range p.nums {
		if _, there := info.leaders[n]; !there {
			return n, true
		}
	}
	return 0, false
}

// unread reports whether anything that is to be read is not there: somebody
// may be about to create it.
func (r *reader) unread() bool {
	r.announcing.Lock()
	defer r.announcing.Unlock()
	return r.lacking
}
