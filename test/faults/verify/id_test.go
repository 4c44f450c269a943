package verify

import (
	"encoding/hex"
	"testing"
)

// Two of the vectors that docs/frame.md publishes.
func TestID(t *testing.T) {
	incarnation, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	topic := Topic{"c1", "orders", string(incarnation)}
	for value, want := range map[string]string{"value": "d22e00000000002a46fd7face63011c1", "": "d22e00000000002a781a74749a63e740"} {
		r := Record{Place: Place{3, 42}, Value: []byte(value)}
		if value == "" {
			r.Value = nil
		}
		id := topic.ID(r)
		if got := hex.EncodeToString(id[:]); got != want {
			t.Errorf("id of %q is %s, want %s", value, got, want)
		}
	}
}
