package flow

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// INV5: the estimate lies at the p95 of the newest samples or at most an eighth
// above it, whatever the samples are.
func TestExpansionAgainstASort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Expansion
		var all []float64
		for range rapid.IntRange(1, 400).Draw(t, "n") {
			r := math.Exp2(rapid.Float64Range(-3, 13).Draw(t, "log2"))
			e.Add(r)
			all = append(all, min(max(r, 1), 4096))
		}
		newest := slices.Clone(all[max(0, len(all)-sampleSize):])
		slices.Sort(newest)
		p95 := newest[len(newest)-1-len(newest)/20]
		got := e.Ratio()
		if len(newest) < enoughSamples {
			if want := max(p95, conservative); got < want || got > want*1.125 {
				t.Fatalf("%d samples: ratio %v, want about %v", len(newest), got, want)
			}
			return
		}
		if got < p95 || got > p95*1.125 {
			t.Fatalf("ratio %v, the p95 is %v", got, p95)
		}
	})
}

// The p95, not the mean: a few records that expand a lot do not reserve the
// budget in vain; from a twentieth on they count.
func TestExpansionIsNotTheMean(t *testing.T) {
	for _, c := range []struct{ odd, want int }{{5, 2}, {6, 2}, {7, 1000}} {
		var e Expansion
		for i := range sampleSize {
			r := 2.0
			if i < c.odd {
				r = 1000
			}
			e.Add(r)
		}
		if got := e.Ratio(); got < float64(c.want) || got > float64(c.want)*1.125 {
			t.Errorf("%d of %d samples are large: ratio %v, want about %d", c.odd, sampleSize, got, c.want)
		}
	}
}

func TestExpansionIsConservativeAtFirst(t *testing.T) {
	var e Expansion
	for n := range enoughSamples {
		if got := e.Ratio(); got != conservative {
			t.Fatalf("ratio %v with %d samples", got, n)
		}
		e.Add(1)
	}
	if got := e.Ratio(); got != 1 {
		t.Errorf("ratio %v with %d samples of 1", got, enoughSamples)
	}
	var high Expansion
	high.Add(100)
	if got := high.Ratio(); got < 100 {
		t.Errorf("ratio %v: the only sample says 100", got)
	}
}

func TestExpansionTakesAnything(t *testing.T) {
	for _, r := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, math.SmallestNonzeroFloat64, math.MaxFloat64, 4096, 4097} {
		var e Expansion
		for range enoughSamples {
			e.Add(r)
		}
		if got := e.Ratio(); !(got >= 1 && got <= 4096) {
			t.Errorf("samples of %v: ratio %v", r, got)
		}
	}
}
