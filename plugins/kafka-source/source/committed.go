package source

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/sdk"
)

// metadata stands beside every committed offset, as JSON.
type metadata struct {
	Version int `json:"twg"`
	// Incarnation is that of the topic whose position was committed.
	Incarnation string `json:"inc,omitempty"`
	// Parts is how many partitions the topic had when the group first read
	// it.
	Parts int `json:"parts,omitempty"`
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

// fetchCommitted asks the group's coordinator.
func fetchCommitted(ctx context.Context, client *kgo.Client, group string) (committedOffsets, error) {
	resp, err := kadm.NewClient(client).FetchOffsets(ctx, group)
	if err != nil {
		return nil, err
	}
	held := make(committedOffsets)
	for topic, parts := range resp {
		for num, o := range parts {
			if o.Err != nil {
				return nil, o.Err
			}
			if o.At >= 0 {
				held[partition{topic, num}] = committedOffset{o.At, parseMetadata(o.Metadata)}
			}
		}
	}
	return held, nil
}

// firstParts is how many partitions the stream's topic had when the group
// first read it: the least that any commit of that incarnation recorded, or
// count, if this is the first run.
func (c committedOffsets) firstParts(id sdk.Stream, count int) int {
	first := count
	for p, o := range c {
		if p.topic == id.Topic && o.meta.Incarnation == id.Incarnation && o.meta.Parts > 0 {
			first = min(first, o.meta.Parts)
		}
	}
	return first
}
