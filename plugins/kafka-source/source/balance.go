package source

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/sdk"
)

// cooperative is the default of the setting "balancers".
const cooperative = "cooperative-sticky"

// balancers by name, as other clients call them too.
var balancers = map[string]func() kgo.GroupBalancer{
	cooperative:  kgo.CooperativeStickyBalancer,
	"sticky":     kgo.StickyBalancer,
	"range":      kgo.RangeBalancer,
	"roundrobin": kgo.RoundRobinBalancer,
}

// balancing says who shares out the partitions. The sticky balancer stands for
// the brokers' "uniform"; with brokers that do not share out it is used itself,
// which is correct, but interrupts all partitions at each rebalance.
func (s *Settings) balancing(g groupCallbacks) []kgo.Opt {
	if s.GroupProtocol == "consumer" {
		return []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer())}
	}
	var list []kgo.GroupBalancer
	for _, name := range s.Balancers {
		list = append(list, sharedOut{balancers[name](), g.shared})
	}
	if list == nil {
		list = append(list, kgo.CooperativeStickyBalancer())
	}
	return []kgo.Opt{kgo.Balancers(list...)}
}

// sharedOut tells how an eager balancer has shared out the partitions, as soon
// as the member is told so. Usually it has given up all of its partitions by
// then. But a member that goes over from the cooperative way with a group that
// gets an eager member has not: what others have now is lost to it.
type sharedOut struct {
	kgo.GroupBalancer
	shared func(mine map[string][]int32)
}

// ParseSyncAssignment implements kgo.GroupBalancer.
func (b sharedOut) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	mine, err := b.GroupBalancer.ParseSyncAssignment(assignment)
	if err == nil && !b.IsCooperative() {
		b.shared(mine)
	}
	return mine, err
}

// checkBalancers finds what the schema cannot say about them.
func (s *Settings) checkBalancers() sdk.Diagnostics {
	var d sdk.Diagnostics
	if s.GroupProtocol == "consumer" && !slices.Equal(s.Balancers, []string{cooperative}) {
		d.Errorf("balancers", "Balancers where the brokers share out", `With group_protocol = "consumer" the brokers share out the partitions. Remove balancers.`)
	}
	for i, name := range s.Balancers {
		if slices.Contains(s.Balancers[:i], name) {
			d = append(d, diagnose([]string{"balancers", strconv.Itoa(i)}, "Balancer named twice", fmt.Sprintf("%s stands there twice. Name each once.", name)))
		}
	}
	return d
}
