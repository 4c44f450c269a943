package sink

import "testing"

// What the plugin says follows what its settings let it hold.
func TestMemoryFollowsSettings(t *testing.T) {
	base := Settings{MaxFileBytes: 128 << 20, MaxFileRows: 500000, Compression: "zstd"}
	plain, small := base, base
	plain.Compression, small.MaxFileBytes = "none", 1<<20
	a := base.memory()
	if b := plain.memory(); b.Extreme != 0 || b.Usual != a.Usual+a.Extreme {
		t.Errorf("without compression %+v, with it %+v", b, a)
	}
	if b := small.memory(); a.Usual-b.Usual < 2*2*31<<20 {
		t.Errorf("small files %+v, large ones %+v", b, a)
	}
	if a.Replay < 2*500000*rowBytes {
		t.Errorf("a replay takes %d bytes", a.Replay)
	}
}
