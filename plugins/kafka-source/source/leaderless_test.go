package source

import (
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// TestLeaderless: a partition that is seen in the middle of an election is
// looked at again soon, not after metadata_max_age.
func TestLeaderless(t *testing.T) {
	id := [16]byte{1}
	stream := sdk.Stream{Topic: "t", Incarnation: incarnation(id)}
	for name, c := range map[string]struct {
		topics map[string]topicInfo
		want   time.Duration
	}{
		"led":      {map[string]topicInfo{"t": {id, map[int32]leader{0: {3, 7}}}}, time.Minute},
		"election": {map[string]topicInfo{"t": {id, map[int32]leader{0: {-1, 7}}}}, leaderEvery},
		"no topic": {nil, leaderEvery},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reader{set: &Settings{MetadataMaxAge: time.Minute}, table: newTable(), cluster: &cluster{topics: c.topics}}
			r.table.assign(map[string][]int32{"t": {0}})
			r.table.announce(partition{"t", 0}, stream, id, 1)
			if err := r.table.start([]sdk.Start{{Stream: stream, Run: 1}}, make([]history, 1)); err != nil {
				t.Fatal(err)
			}
			if d := r.metadataAge(); d != c.want {
				t.Errorf("looked at again after %v, want %v", d, c.want)
			}
		})
	}
}
