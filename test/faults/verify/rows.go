package verify

import "slices"

// Rows compares the rows of files with the records of a topic, one file at a
// time.
type Rows struct {
	topic Topic
	want  map[Place]Record
	seen  map[Place]string // file that holds the row

	// Lost are records that no file holds, Duplicated rows beyond a record's
	// first, Extra rows of no record, Wrong rows that differ from theirs.
	Lost, Duplicated, Extra, Wrong Findings
	// Count is the number of rows read.
	Count int
}

// NewRows begins a comparison with the topic's records.
func NewRows(topic Topic, records []Record) *Rows {
	r := &Rows{topic: topic, want: make(map[Place]Record, len(records)), seen: make(map[Place]string, len(records))}
	r.Lost.Kind, r.Duplicated.Kind, r.Extra.Kind, r.Wrong.Kind = "lost", "duplicated", "extra row", "wrong row"
	for _, x := range records {
		r.want[x.Place] = x
	}
	return r
}

// Add checks the rows of one visible file.
func (r *Rows) Add(file string, rows []Row) {
	for _, row := range rows {
		r.Count++
		want, real := r.want[row.Place]
		first, again := r.seen[row.Place]
		switch {
		case !real:
			r.Extra.add("%s in %s: the topic has no such record", row.Place, file)
			continue
		case again:
			r.Duplicated.add("%s is in %s and in %s", row.Place, first, file)
		default:
			r.seen[row.Place] = file
		}
		if d := r.topic.Diff(want, row); d != "" {
			r.Wrong.add("%s in %s: %s", row.Place, file, d)
		}
	}
}

// Finish counts the records that are in no file. With below set, only those
// under a partition's bound: what was never promised is not lost.
func (r *Rows) Finish(below map[int32]int64) {
	var lost []Place
	for p := range r.want {
		if _, ok := r.seen[p]; ok || below != nil && p.Position >= below[p.Partition] {
			continue
		}
		lost = append(lost, p)
	}
	slices.SortFunc(lost, func(a, b Place) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Position - b.Position)
	})
	for _, p := range lost {
		r.Lost.add("%s is in no file", p)
	}
}
