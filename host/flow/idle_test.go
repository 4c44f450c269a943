package flow

import (
	"fmt"
	"testing"
	"time"
)

// counts are what a source of many frames costs in messages and in waits.
type counts struct {
	grants int
	dry    int // frames after which the source had no credit, with half of the budget free
}

// drive has one of so many streams deliver frames to a sink that holds two of
// them at a time.
func drive(budget, frame int64, streams, frames int) (c counts) {
	a := NewAdmission(AdmissionConfig{Budget: budget, Overdraft: mib, ItemOverhead: 2 << 10, RowOverhead: 16, WarmUp: WarmUp{Fraction: 1}})
	busy := a.Join()
	for range streams - 1 {
		a.Sample(a.Join(), 1.1) // a record when the world began, and no other
	}
	rows := int(frame / 300)
	for i := range frames {
		if n := a.Grantable(); n > 0 {
			a.Granted(at(0), n)
			c.grants++
		}
		a.Tick(at(time.Duration(i) * 10 * time.Millisecond))
		a.Receive(frame, rows)
		a.Sample(busy, float64(a.Charge(frame, rows))/float64(frame))
		if a.Credit() <= 0 && a.Used() < budget/2 {
			c.dry++
		}
		if i >= 2 {
			a.Release(frame, rows)
		}
	}
	return c
}

// Partitions where nothing happens have too few samples for good. The source of
// a small budget neither waits for it, nor costs more messages.
func TestIdleStreamsCostNothing(t *testing.T) {
	for _, c := range []struct {
		budget, frame int64
		streams       int
	}{{256 << 10, 16 << 10, 64}, {256 << 10, 48 << 10, 64}, {mib, 64 << 10, 12}, {2 * mib, 64 << 10, 64}, {2 * mib, 256 << 10, 12}, {64 * mib, mib, 64}} {
		t.Run(fmt.Sprintf("%d by %d", c.budget>>10, c.frame>>10), func(t *testing.T) {
			const frames = 2000
			alone, beside := drive(c.budget, c.frame, 1, frames), drive(c.budget, c.frame, c.streams, frames)
			t.Logf("%d frames: alone %+v, beside idle streams %+v", frames, alone, beside)
			if beside.dry > alone.dry+enoughSamples {
				t.Errorf("no credit, and half of the budget free, after %d of %d frames; alone after %d", beside.dry, frames, alone.dry)
			}
			if most := max(alone.grants, frames/2) * 5 / 4; beside.grants > most {
				t.Errorf("%d grants, want at most %d; alone %d", beside.grants, most, alone.grants)
			}
		})
	}
}

// INV5: idle streams that wake, and are as bad as feared, pass the budget by no
// more than what one frame may.
func TestIdleStreamsThatWake(t *testing.T) {
	for _, budget := range []int64{64 << 10, 256 << 10, 2 * mib, 8 * mib, 64 * mib, 512 * mib} {
		t.Run(fmt.Sprint(budget>>10), func(t *testing.T) {
			a := NewAdmission(AdmissionConfig{Budget: budget, Overdraft: mib, ItemOverhead: 2 << 10, RowOverhead: 16, WarmUp: WarmUp{Fraction: 1}})
			busy := a.Join()
			for range 2 * enoughSamples {
				a.Sample(busy, 1)
			}
			idle := []*Stream{a.Join(), a.Join(), a.Join()}
			const frame = 300 // is charged nearly eight times of it
			for i := 0; ; i++ {
				a.Granted(at(0), a.Grantable())
				if a.Credit() <= 0 {
					break
				}
				a.Receive(frame, 1)
				a.Sample(idle[i%3], float64(a.Charge(frame, 1))/frame)
			}
			over := a.Used() - budget
			t.Logf("%d KiB above the budget of %d KiB", over>>10, budget>>10)
			if most := int64(mib + 2<<10 + frame); over > most {
				t.Errorf("%d bytes above the budget, want at most %d", over, most)
			}
		})
	}
}
