package source

import "testing"

// What the plugin says follows what its settings let it hold.
func TestMemoryFollowsSettings(t *testing.T) {
	one := Settings{MaxConnections: 1, MaxFrameBytes: 1 << 20}
	many, large, resume := one, one, one
	many.MaxConnections, large.MaxFrameBytes = 1000, 200<<20
	resume.Resume, resume.MaxConnections = true, 1000
	a := one.memory()
	if b := many.memory(); b.Usual <= a.Usual || b.Usual > 10*a.Usual || b.Extreme < 1000*2<<20 {
		t.Errorf("a thousand connections: %+v, one: %+v", b, a)
	}
	if b := large.memory(); b.Usual > 2*a.Usual || b.Usual+b.Extreme < 2*600<<20 {
		t.Errorf("large records: %+v, small ones: %+v", b, a)
	}
	if b := resume.memory(); b.Usual+b.Extreme > 3*(a.Usual+a.Extreme) {
		t.Errorf("with resume one peer at a time speaks: %+v, one: %+v", b, a)
	}
	if b := (&Settings{MaxConnections: 1, MaxFrameBytes: 1}).memory(); b.Usual <= 0 || b.Extreme < 0 {
		t.Errorf("the least settings: %+v", b)
	}
}
