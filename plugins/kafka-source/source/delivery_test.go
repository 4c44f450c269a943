package source

import (
	"testing"
)

func TestDelivery(t *testing.T) {
	b := newBroker(t)
	b.create(3, "orders", nil)
	for p := range int32(3) {
		b.fill("orders", p, 0, 1000)
	}
	h := newHost(t).open(b.settings("g", "orders"))
	rows := h.untilRows(3000)
	if len(rows) != 3000 {
		t.Errorf("%d rows, want 3000", len(rows))
	}
	for p := range int32(3) {
		b.untilCommitted("g", "orders", p, 1000)
	}
}
