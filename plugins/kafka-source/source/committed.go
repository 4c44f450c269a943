package source

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/sdk"
)

// metadata stands beside every committed offset, as JSON.
type metadata struct {
	Version int `json:"twg"`
	// Incarnation is that of the topic whose position was committed.
	Incarnation string `json:"inc,omitempty"`
	// Parts is how many partitions the topic had when the group first read
	// it: 0 if the topic was created, or created anew, after that.
	Parts int `json:"parts"`
}

func (m metadata) String() string {
	m.Version = 1
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return string(b)
}

// parseMetadata reads what stands beside an offset. Text of another program
// gives the zero value.
func parseMetadata(text string) metadata {
	var m metadata
	if json.Unmarshal([]byte(text), &m) != nil || m.Version != 1 || m.Parts < 0 {
		return metadata{}
	}
	return m
}

type committedOffset struct {
	position int64
	meta     metadata
}

// committedOffsets is all that a group has committed.
type committedOffsets map[partition]committedOffset

// fetchCommitted asks the group's coordinator about all partitions of the
// topics.
func fetchCommitted(ctx context.Context, client *kgo.Client, group string, topics map[string]topicInfo) (committedOffsets, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	names := make(map[[16]byte]string)
	for name, info := range topics {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.TopicID = name, info.id
		t.Partitions = slices.Collect(maps.Keys(info.leaders))
		g.Topics = append(g.Topics, t)
		names[info.id] = name
	}
	req.Groups = append(req.Groups, g)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	return readCommitted(resp, names)
}

func readCommitted(resp *kmsg.OffsetFetchResponse, names map[[16]byte]string) (committedOffsets, error) {
	if len(resp.Groups) != 1 {
		return nil, fmt.Errorf("the coordinator answered for %d groups", len(resp.Groups))
	}
	if err := kerr.ErrorForCode(resp.Groups[0].ErrorCode); err != nil {
		return nil, err
	}
	held := make(committedOffsets)
	for _, t := range resp.Groups[0].Topics {
		name := t.Topic
		if byID, ok := names[t.TopicID]; ok && t.TopicID != ([16]byte{}) {
			name = byID
		}
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("%s/%d: %w", name, p.Partition, err)
			}
			if p.Offset >= 0 {
				held[partition{name, p.Partition}] = committedOffset{p.Offset, parseMetadata(deref(p.Metadata))}
			}
		}
	}
	return held, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// sameTopic reports whether a position that was committed under an incarnation
// is of a topic. A broker that knew no incarnations may have learnt them since.
func sameTopic(committed, id string) bool {
	base, _, _ := strings.Cut(committed, cutMark)
	return base == "" || base == id
}

// firstParts is how many partitions the stream's topic had when the group
// first read it: the least that any commit of that incarnation recorded; 0, if
// the group has read another topic of that name; else count, because this is
// the first run.
func (c committedOffsets) firstParts(id sdk.Stream, count int) int {
	first, this, another := count, false, false
	for p, o := range c {
		switch {
		case p.topic != id.Topic || o.meta.Version == 0:
		case sameTopic(o.meta.Incarnation, id.Incarnation):
			first, this = min(first, o.meta.Parts), true
		default:
			another = true
		}
	}
	if another && !this {
		return 0
	}
	return first
}
