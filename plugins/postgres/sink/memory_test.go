package sink

import (
	"testing"

	"github.com/twg-io/twg/sdk"
)

// What the plugin says follows what its settings let it hold.
func TestMemoryFollowsSettings(t *testing.T) {
	one, two := Settings{Connections: 1, MaxTxBytes: 8 << 20}.memory(), Settings{Connections: 2, MaxTxBytes: 8 << 20}.memory()
	if least := int64(sdk.Garbage * (sdk.SinkCredit + 16<<20)); one.Usual < least {
		t.Errorf("%d bytes, and two transactions and what waits are %d", one.Usual, least)
	}
	if d := two.Usual - one.Usual; d < sdk.Garbage*16<<20 {
		t.Errorf("another connection adds %d bytes", d)
	}
	if two.Frames <= one.Frames || one.Replay <= 0 {
		t.Errorf("one connection %+v, two %+v", one, two)
	}
}
