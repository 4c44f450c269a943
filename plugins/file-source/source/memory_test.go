package source

import "testing"

// What the plugin says follows what its settings let it hold.
func TestMemoryFollowsSettings(t *testing.T) {
	two := Settings{Readers: 2, MaxFiles: 100000}
	four, many := two, two
	four.Readers, many.MaxFiles = 4, 1000000
	a := two.memory()
	if b := four.memory(); b.Usual-a.Usual < 2*2*usualWindow || b.Frames != 2*a.Frames || b.Extreme <= a.Extreme {
		t.Errorf("four readers %+v, two %+v", b, a)
	}
	if b := many.memory(); b.Usual != a.Usual || b.Extreme-a.Extreme != 2*900000*fileBytes {
		t.Errorf("more files %+v, fewer %+v", b, a)
	}
}
