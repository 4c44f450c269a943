package verify

import (
	"fmt"
	"slices"
	"time"
)

// Sample is what was seen at one moment: the positions that somebody relied
// on, such as committed offsets, and then that all files whose number is below
// Files were visible. Why says who relied.
type Sample struct {
	Why       string
	At        time.Duration // since the run began
	Committed map[int32]int64
	Files     int
}

// FirstSeen maps a record's place to what Sample.Files is at least once the
// first file that holds it is visible: the file's number and one.
type FirstSeen map[Place]int

// Led counts the records that somebody relied on while no visible file held
// them. Each record counts once, at the first sample that shows it.
func Led(samples []Sample, seen FirstSeen, real []Place) Findings {
	f := Findings{Kind: "led"}
	byPartition := map[int32][]int64{}
	for _, p := range real {
		byPartition[p.Partition] = append(byPartition[p.Partition], p.Position)
	}
	for partition, positions := range byPartition {
		slices.Sort(positions)
		ledPartition(&f, samples, seen, partition, positions)
	}
	return f
}

// ledPartition walks the samples with the records that are below the highest
// position so far and were in a file at no sample yet.
func ledPartition(f *Findings, samples []Sample, seen FirstSeen, partition int32, positions []int64) {
	done, next := int64(0), 0
	for _, s := range samples {
		c, ok := s.Committed[partition]
		if !ok || c <= done {
			continue
		}
		for ; next < len(positions) && positions[next] < c; next++ {
			p := Place{partition, positions[next]}
			if n, ok := seen[p]; !ok {
				f.add("%s: %s %d at %s, in no file", p, s.Why, c, round(s.At))
			} else if n > s.Files {
				f.add("%s: %s %d at %s, before file %d was visible", p, s.Why, c, round(s.At), n-1)
			}
		}
		done = c
	}
}

func round(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
