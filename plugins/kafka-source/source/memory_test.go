package source

import "testing"

// What the plugin says follows what its settings let it hold.
func TestMemoryFollowsSettings(t *testing.T) {
	base := Settings{FetchMaxBytes: 4 << 20, PartitionMaxBytes: 1 << 20, MaxBatchBytes: 256 << 20}
	more, wide := base, base
	more.FetchMaxBytes, wide.MaxBatchBytes = 8<<20, 512<<20
	a := base.memory()
	if b := more.memory(); b.Usual-a.Usual != 2*prefetchRequests*4<<20 {
		t.Errorf("larger requests add %d bytes", b.Usual-a.Usual)
	}
	if b := wide.memory(); b.Usual != a.Usual || b.Extreme-a.Extreme != 512<<20 {
		t.Errorf("larger batches: %+v, was %+v", b, a)
	}
	small := Settings{FetchMaxBytes: 64 << 10, PartitionMaxBytes: 16 << 10, MaxBatchBytes: 1 << 20}
	if m := small.memory(); m.Usual <= 0 || m.Extreme < 0 {
		t.Errorf("the least settings: %+v", m)
	}
}
