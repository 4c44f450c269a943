package source

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHistory(t *testing.T) {
	var h history
	for i := range int64(maxHistory + 5) {
		h = h.with(int32(i), 10*i)
		h = h.with(int32(i), 10*i+3) // known
	}
	if len(h) != maxHistory || h[0] != (epochFrom{5, 50}) || h.last() != maxHistory+4 {
		t.Errorf("history %v", h)
	}
	if got := h.below(60); len(got) != 1 || got.last() != 5 {
		t.Errorf("below 60: %v", got)
	}
	if got := h.below(50); len(got) != 0 || got.last() != -1 {
		t.Errorf("below 50: %v", got)
	}
	a, b := h[:1].with(9, 90), h[:1].with(7, 70)
	if a.last() != 9 || b.last() != 7 || h[1].epoch != 6 {
		t.Error("histories share memory")
	}
	if got := string(history{{3, 0}, {5, 120}}.token()); got != `{"twg":1,"epochs":[[3,0],[5,120]]}` {
		t.Errorf("token %s", got)
	}
	got, err := parseHistory(h.token())
	if err != nil || !slices.Equal(got, h) {
		t.Errorf("read back as %v (%v)", got, err)
	}
}

// FuzzHistory: what is read from a cursor ascends, and is written as it was.
func FuzzHistory(f *testing.F) {
	for _, s := range []string{"", "{}", `{"twg":1}`, `{"twg":1,"epochs":[[3,0],[5,120]]}`, `{"twg":2,"epochs":[]}`, `{"twg":1,"epochs":[[5,0],[3,1]]}`, `{"twg":1,"epochs":[[1,4],[2,4]]}`, `{"twg":1,"epochs":[[99999999999,4]]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHistory(b)
		if err != nil && h != nil {
			t.Fatalf("%q: %v and %v", b, h, err)
		}
		for i := 1; i < len(h); i++ {
			if h[i].epoch <= h[i-1].epoch || h[i].from <= h[i-1].from {
				t.Fatalf("%q became %v", b, h)
			}
		}
		if again, err := parseHistory(h.token()); err != nil || !slices.Equal(again, h) {
			t.Fatalf("%v was read back as %v (%v)", h, again, err)
		}
	})
}

// epochLog is a log by the epoch of each record.
type epochLog []int32

// endOf is what a broker answers: the largest epoch up to one that the log
// has, and where the next one begins.
func (l epochLog) endOf(epoch int32) epochEnd {
	out := epochEnd{-1, 0}
	for i, e := range l {
		if e <= epoch {
			out = epochEnd{e, int64(i) + 1}
		}
	}
	return out
}

// TestCutAtModel: logs that grow and are cut by leaders of rising epochs; of any
// two, each as one reader saw it and as one broker has it, the first position
// that differs is found.
func TestCutAtModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		read, have := epochLog{}, epochLog{}
		for epoch := range rapid.Int32Range(1, 8).Draw(t, "epochs") {
			grow := rapid.IntRange(1, 4).Draw(t, "grow")
			switch rapid.IntRange(0, 3).Draw(t, "who") {
			case 0: // a leader that both follow, as far as they are alike
				if slices.Equal(read, have) {
					read = append(read, slices.Repeat(epochLog{epoch}, grow)...)
					have = slices.Clone(read)
					continue
				}
				fallthrough
			case 1: // one that the broker follows, after a cut
				cut := rapid.IntRange(0, len(have)).Draw(t, "cut")
				have = append(have[:cut:cut], slices.Repeat(epochLog{epoch}, grow)...)
			case 2: // one that only the reader has seen
				read = append(read, slices.Repeat(epochLog{epoch}, grow)...)
			}
		}
		if len(read) == 0 {
			return
		}
		have = append(have, 100) // a leader that has just been elected
		var h history
		for i, e := range read {
			h = h.with(e, int64(i))
		}
		want := int64(0)
		for want < int64(len(read)) && read[want] == have[want] {
			want++
		}
		at, err := cutAt(h, int64(len(read)), have.endOf(h.last()), func(e int32) (epochEnd, error) { return have.endOf(e), nil })
		if err != nil || at != want {
			t.Fatalf("read %v, the broker has %v: cut at %d (%v), want %d", read, have, at, err, want)
		}
	})
}

func TestCutAtSaysWhyItIsNotFound(t *testing.T) {
	broken := errors.New("no leader")
	_, err := cutAt(history{{1, 0}, {3, 10}}, 20, epochEnd{2, 12}, func(e int32) (epochEnd, error) {
		return epochEnd{}, fmt.Errorf("epoch %d: %w", e, broken)
	})
	if !errors.Is(err, broken) || err.Error() != "epoch 1: no leader" {
		t.Errorf("%v", err)
	}
}
