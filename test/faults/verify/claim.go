package verify

import "slices"

// Claim is a span that somebody said was held when all files whose number is
// below Files were visible.
type Claim struct {
	Span
	Files int
}

// Early counts the records that were claimed before a visible file held them.
func Early(claims []Claim, seen FirstSeen, real []Place) Findings {
	f := Findings{Kind: "secondary covered before its file"}
	byPartition := map[int32][]int64{}
	for _, p := range real {
		byPartition[p.Partition] = append(byPartition[p.Partition], p.Position)
	}
	for _, positions := range byPartition {
		slices.Sort(positions)
	}
	for _, c := range claims {
		positions := byPartition[c.Partition]
		first, _ := slices.BinarySearch(positions, c.From)
		for _, at := range positions[first:] {
			if at >= c.Next {
				break
			}
			p := Place{c.Partition, at}
			if n, there := seen[p]; !there || n > c.Files {
				f.add("%s: held by coverage when %d files were there, in file %d (0: in none)", p, c.Files, n)
			}
		}
	}
	return f
}
