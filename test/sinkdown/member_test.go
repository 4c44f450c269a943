//go:build services

package sinkdown

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is the group's only one, and the group's generation: each rebalance
// begins another.
type member struct {
	id         string
	generation int32
}

// memberID is the only member of a group that is stable, empty if it is not.
func (w *world) memberID() string {
	groups, err := w.admin.DescribeGroups(w.t.Context(), group)
	g := groups[group]
	if err != nil || g.State != "Stable" || len(g.Members) != 1 {
		return ""
	}
	return g.Members[0].MemberID
}

// member asks for the generation, which no description tells: a heartbeat with
// the right one is accepted. So it is one heartbeat more than the member's own.
func (w *world) member() member {
	w.t.Helper()
	m := member{id: w.memberID()}
	for m.generation = 1; m.generation < 100; m.generation++ {
		if w.beats(m) {
			return m
		}
	}
	w.t.Fatalf("no generation of member %q is known to the group", m.id)
	return m
}

func (w *world) beats(m member) bool {
	w.t.Helper()
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = group, m.id, m.generation
	resp, err := r.RequestWith(w.t.Context(), w.client())
	must(w.t, err)
	return kerr.ErrorForCode(resp.ErrorCode) == nil
}
