package top

import (
	"time"

	"github.com/twg-io/twg/host/admin/view"
)

// history is how fast a pipeline was in the last while.
type history struct {
	started        time.Time // of the process: another one counts from zero
	answered       time.Time
	records, bytes int64
	// recordRates and byteRates are a second, the newest last.
	recordRates, byteRates []float64
}

// kept bounds the rates.
const kept = 60

// see takes what the pipeline says now. Of one that has said nothing new there
// is nothing to be learnt.
func (h *history) see(started time.Time, p *view.Pipeline) {
	seconds := p.Answered.Sub(h.answered).Seconds()
	switch {
	case h.answered.IsZero() || !started.Equal(h.started):
		h.recordRates, h.byteRates = nil, nil
	case seconds <= 0:
		return
	default:
		h.recordRates = keep(h.recordRates, float64(p.Records-h.records)/seconds)
		h.byteRates = keep(h.byteRates, float64(p.Bytes-h.bytes)/seconds)
	}
	h.started, h.answered, h.records, h.bytes = started, p.Answered, p.Records, p.Bytes
}

func keep(rates []float64, r float64) []float64 {
	rates = append(rates, max(r, 0))
	return rates[max(len(rates)-kept, 0):]
}

// last is the newest rate; 0 before there is one.
func last(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	return rates[len(rates)-1]
}

var bars = []rune("▁▂▃▄▅▆▇█")

// sparkline draws the newest rates in so many columns, the greatest as a full
// bar.
func sparkline(rates []float64, columns int) string {
	rates = rates[max(len(rates)-columns, 0):]
	most := 0.0
	for _, r := range rates {
		most = max(most, r)
	}
	out := make([]rune, 0, columns)
	for _, r := range rates {
		i := 0
		if most > 0 {
			i = int(r / most * float64(len(bars)-1))
		}
		out = append(out, bars[i])
	}
	return string(out)
}
