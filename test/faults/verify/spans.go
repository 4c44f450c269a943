package verify

import "slices"

// Span is the half-open range [From, Next) of a partition that a file's
// footer claims.
type Span struct {
	Partition  int32
	From, Next int64
	File       string
}

// Spans checks what the footers claim (INV7): spans of visible files do not
// overlap, and with the voids they cover each partition without holes from 0
// to its frontier.
func Spans(spans, voids []Span, frontier map[int32]int64) Findings {
	f := Findings{Kind: "spans"}
	byPartition := map[int32][]Span{}
	for _, s := range spans {
		byPartition[s.Partition] = append(byPartition[s.Partition], s)
	}
	voidsOf := map[int32][]Span{}
	for _, v := range voids {
		voidsOf[v.Partition] = append(voidsOf[v.Partition], v)
	}
	partitions := map[int32]bool{}
	for p := range byPartition {
		partitions[p] = true
	}
	for p := range frontier {
		partitions[p] = true
	}
	for p := range partitions {
		overlaps(&f, byPartition[p])
		holes(&f, p, slices.Concat(byPartition[p], voidsOf[p]), frontier[p])
	}
	return f
}

func order(a, b Span) int {
	if a.From != b.From {
		return int(a.From - b.From)
	}
	return int(a.Next - b.Next)
}

func overlaps(f *Findings, spans []Span) {
	slices.SortFunc(spans, order)
	var last Span // the span that reaches furthest so far
	for i, s := range spans {
		if s.Next <= s.From {
			continue
		}
		if i > 0 && s.From < last.Next {
			f.add("partition %d: [%d,%d) of %s overlaps [%d,%d) of %s", s.Partition, s.From, s.Next, s.File, last.From, last.Next, last.File)
		}
		if s.Next > last.Next {
			last = s
		}
	}
}

func holes(f *Findings, partition int32, spans []Span, frontier int64) {
	slices.SortFunc(spans, order)
	at := int64(0)
	for _, s := range spans {
		if at >= frontier {
			return
		}
		if s.From > at {
			f.add("partition %d: no file covers [%d,%d)", partition, at, min(s.From, frontier))
		}
		at = max(at, s.Next)
	}
	if at < frontier {
		f.add("partition %d: no file covers [%d,%d)", partition, at, frontier)
	}
}

// Frontier returns how far spans cover each partition without a hole.
func Frontier(spans []Span) map[int32]int64 {
	out := map[int32]int64{}
	for _, s := range merge(spans) {
		if s.From <= 0 {
			out[s.Partition] = s.Next
		}
	}
	return out
}

// Inside checks that every row lies in a span of its own file.
func Inside(f *Findings, file string, rows []Row, spans []Span) {
	for _, row := range rows {
		in := slices.ContainsFunc(spans, func(s Span) bool {
			return s.Partition == row.Partition && s.From <= row.Position && row.Position < s.Next
		})
		if !in {
			f.add("%s stands in %s outside of its spans", row.Place, file)
		}
	}
}

// Checkpoint checks that state, what a checkpoint says is held, is what the
// files before it held: no more (INV8) and no less.
func Checkpoint(f *Findings, file string, state, before []Span) {
	says, held := merge(state), merge(before)
	if !slices.Equal(says, held) {
		f.add("%s says that %v is held, the files before it hold %v", file, says, held)
	}
}

// Beyond returns the parts of spans that are in none of known.
func Beyond(spans, known []Span) (out []Span) {
	known = merge(known)
	for _, s := range merge(spans) {
		for _, k := range known {
			if k.Partition != s.Partition || k.Next <= s.From || k.From >= s.Next {
				continue
			}
			if k.From > s.From {
				out = append(out, Span{Partition: s.Partition, From: s.From, Next: k.From})
			}
			s.From = min(k.Next, s.Next)
		}
		if s.From < s.Next {
			out = append(out, s)
		}
	}
	return out
}

// Merge joins spans that touch.
func Merge(spans []Span) []Span { return merge(spans) }

// merge joins spans that touch.
func merge(spans []Span) []Span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Span) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return order(a, b)
	})
	var out []Span
	for _, s := range spans {
		s.File = ""
		if n := len(out) - 1; n >= 0 && out[n].Partition == s.Partition && s.From <= out[n].Next {
			out[n].Next = max(out[n].Next, s.Next)
			continue
		}
		out = append(out, s)
	}
	return out
}
