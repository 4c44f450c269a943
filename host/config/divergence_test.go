package config

import (
	"testing"

	"github.com/twg-io/twg/sdk"
)

// A source that can call a stream by another name may go on after a cut; the
// golden file has one that cannot.
func TestDivergenceNeedsASourceThatRenames(t *testing.T) {
	p := mustLoad(t, "pipeline \"orders\" {\n  on_divergence = \"new_incarnation\"\n"+parts).Pipelines[0]
	for _, can := range []bool{true, false} {
		got := CheckRoles(p, &sdk.Capabilities{Renames: can}, nil)
		if got.HasErrors() == can {
			t.Errorf("renames %t: %v", can, got)
		}
	}
}
