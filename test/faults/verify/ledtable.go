package verify

import (
	"slices"
	"time"
)

// Moment is what a table held of the positions [From,Next) of a partition when
// somebody relied on all of them: Why says who.
type Moment struct {
	Span
	Why  string
	At   time.Time
	Held []int64
}

// LedTable counts the records that somebody relied on while the table did not
// hold them. Each counts once.
func LedTable(moments []Moment, real []Place) Findings {
	f := Findings{Kind: "led"}
	byPartition := map[int32][]int64{}
	for _, p := range real {
		byPartition[p.Partition] = append(byPartition[p.Partition], p.Position)
	}
	for _, positions := range byPartition {
		slices.Sort(positions)
	}
	counted := map[Place]bool{}
	for _, m := range moments {
		m.led(&f, byPartition[m.Partition], counted)
	}
	return f
}

func (m Moment) led(f *Findings, positions []int64, counted map[Place]bool) {
	held := map[int64]bool{}
	for _, p := range m.Held {
		held[p] = true
	}
	first, _ := slices.BinarySearch(positions, m.From)
	for _, at := range positions[first:] {
		if at >= m.Next {
			return
		}
		place := Place{m.Partition, at}
		if !held[at] && !counted[place] {
			counted[place] = true
			f.add("%s: %s %d at %s, not in the table", place, m.Why, m.Next, m.At.Format("15:04:05.000"))
		}
	}
}

// Claimed checks coverage against the records of the topic: a record in a held
// span is in a row, and no span ends beyond the topic.
func (r *Rows) Claimed(f *Findings, held []Span, ends map[int32]int64) {
	for _, s := range held {
		if s.Next > ends[s.Partition] {
			f.add("partition %d: [%d,%d) is held, and the topic ends at %d", s.Partition, s.From, s.Next, ends[s.Partition])
		}
	}
	for p := range r.want {
		if _, there := r.seen[p]; !there && within(held, p) {
			f.add("%s is held by coverage and there is no row", p)
		}
	}
}

func within(spans []Span, p Place) bool {
	return slices.ContainsFunc(spans, func(s Span) bool {
		return s.Partition == p.Partition && s.From <= p.Position && p.Position < s.Next
	})
}
