package verify

import (
	"maps"
	"testing"
	"time"
)

var topic = Topic{Cluster: "c", Name: "t", Incarnation: "i"}

func rec(partition int32, position int64) Record {
	return Record{
		Place: Place{partition, position}, TimestampMS: 1000 + position,
		Key: []byte("k"), Value: []byte{byte(position)},
		Headers: []Header{{"a", []byte("1")}, {"a", nil}, {"b", []byte{}}},
	}
}

func row(r Record) Row {
	return Row{Record: r, Cluster: topic.Cluster, Topic: topic.Name, Incarnation: topic.Incarnation, ID: topic.ID(r)}
}

func rows(partition int32, from, next int64) []Row {
	var out []Row
	for p := from; p < next; p++ {
		out = append(out, row(rec(partition, p)))
	}
	return out
}

func TestRows(t *testing.T) {
	records := []Record{rec(0, 0), rec(0, 1), rec(0, 2), rec(1, 0), rec(1, 4)}
	cases := []struct {
		name                         string
		files                        [][]Row
		below                        map[int32]int64
		lost, duplicated, extra, bad int
	}{
		{name: "all there", files: [][]Row{rows(0, 0, 3), {row(rec(1, 0)), row(rec(1, 4))}}},
		{name: "nothing there", lost: 5},
		{name: "one file gone", files: [][]Row{rows(0, 0, 3)}, lost: 2},
		{name: "lost above what was promised does not count", files: [][]Row{rows(0, 0, 2)}, below: map[int32]int64{0: 2, 1: 1}, lost: 1},
		{name: "one row in two files", files: [][]Row{rows(0, 0, 3), rows(0, 2, 3), {row(rec(1, 0)), row(rec(1, 4))}}, duplicated: 1},
		{name: "one row three times in one file", files: [][]Row{append(rows(0, 0, 3), rows(0, 0, 3)...), rows(0, 0, 1), {row(rec(1, 0)), row(rec(1, 4))}}, duplicated: 4},
		{name: "an aborted record", files: [][]Row{rows(0, 0, 3), {row(rec(1, 0)), row(rec(1, 3)), row(rec(1, 4))}}, extra: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := NewRows(topic, records)
			for _, f := range c.files {
				r.Add("file", f)
			}
			r.Finish(c.below)
			got := [4]int{r.Lost.Count, r.Duplicated.Count, r.Extra.Count, r.Wrong.Count}
			if want := [4]int{c.lost, c.duplicated, c.extra, c.bad}; got != want {
				t.Errorf("lost, duplicated, extra, wrong = %v, want %v", got, want)
			}
		})
	}
}

// Every field that a row has is looked at: each change is found.
func TestWrongRowIsFound(t *testing.T) {
	changes := map[string]func(*Row){
		"cluster":         func(r *Row) { r.Cluster = "x" },
		"topic":           func(r *Row) { r.Topic = "x" },
		"incarnation":     func(r *Row) { r.Incarnation = "" },
		"timestamp":       func(r *Row) { r.TimestampMS++ },
		"id":              func(r *Row) { r.ID[15] ^= 1 },
		"key null":        func(r *Row) { r.Key = nil },
		"key empty":       func(r *Row) { r.Key = []byte{} },
		"value null":      func(r *Row) { r.Value = nil },
		"value":           func(r *Row) { r.Value = []byte("other") },
		"no headers":      func(r *Row) { r.Headers = nil },
		"headers swapped": func(r *Row) { r.Headers = []Header{r.Headers[1], r.Headers[0], r.Headers[2]} },
		"header name":     func(r *Row) { r.Headers = []Header{r.Headers[0], {"x", nil}, r.Headers[2]} },
		"header not null": func(r *Row) { r.Headers = []Header{r.Headers[0], {"a", []byte{}}, r.Headers[2]} },
		"header null":     func(r *Row) { r.Headers = []Header{r.Headers[0], r.Headers[1], {"b", nil}} },
		"header twice":    func(r *Row) { r.Headers = append(r.Headers[:2:2], r.Headers[1], r.Headers[2]) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			bad := row(rec(0, 1))
			change(&bad)
			r := NewRows(topic, []Record{rec(0, 0), rec(0, 1)})
			r.Add("file", []Row{row(rec(0, 0)), bad})
			r.Finish(nil)
			if r.Wrong.Count != 1 || r.Lost.Count+r.Duplicated.Count+r.Extra.Count != 0 {
				t.Errorf("wrong = %d (%v), lost = %d", r.Wrong.Count, r.Wrong.First, r.Lost.Count)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	s := func(p int32, from, next int64) Span { return Span{p, from, next, "f"} }
	cases := []struct {
		name     string
		spans    []Span
		voids    []Span
		frontier map[int32]int64
		want     int
	}{
		{"nothing", nil, nil, nil, 0},
		{"in a row, out of order", []Span{s(0, 5, 9), s(0, 0, 5), s(1, 0, 2)}, nil, map[int32]int64{0: 9, 1: 2}, 0},
		{"a hole", []Span{s(0, 0, 5), s(0, 6, 9)}, nil, map[int32]int64{0: 9}, 1},
		{"a hole above the frontier", []Span{s(0, 0, 5), s(0, 6, 9)}, nil, map[int32]int64{0: 5}, 0},
		{"a hole at the end", []Span{s(0, 0, 5)}, nil, map[int32]int64{0: 6}, 1},
		{"a hole at the beginning", []Span{s(0, 1, 5)}, nil, map[int32]int64{0: 5}, 1},
		{"a void", []Span{s(0, 4, 5)}, []Span{s(0, 0, 4)}, map[int32]int64{0: 5}, 0},
		{"no file of a partition", nil, nil, map[int32]int64{3: 1}, 1},
		{"overlap", []Span{s(0, 0, 5), s(0, 4, 9)}, nil, map[int32]int64{0: 9}, 1},
		{"overlap with one that began before", []Span{s(0, 0, 9), s(0, 1, 2), s(0, 3, 4), s(0, 9, 10)}, nil, map[int32]int64{0: 10}, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Spans(c.spans, c.voids, c.frontier); got.Count != c.want {
				t.Errorf("%d findings %v, want %d", got.Count, got.First, c.want)
			}
		})
	}
}

func TestFrontier(t *testing.T) {
	got := Frontier([]Span{{0, 5, 9, "b"}, {0, 0, 5, "a"}, {0, 11, 12, "c"}, {1, 3, 4, "a"}, {2, 0, 1, "void"}})
	if want := (map[int32]int64{0: 9, 2: 1}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestInside(t *testing.T) {
	var f Findings
	Inside(&f, "f", rows(0, 3, 8), []Span{{0, 3, 5, "f"}, {0, 5, 7, "f"}, {1, 0, 9, "f"}})
	if f.Count != 1 {
		t.Errorf("%d findings %v, want position 7 alone", f.Count, f.First)
	}
}

func TestCheckpoint(t *testing.T) {
	before := []Span{{0, 0, 5, "1"}, {1, 0, 4, "1"}, {0, 5, 9, "2"}}
	cases := []struct {
		name  string
		state []Span
		want  int
	}{
		{"the same, joined", []Span{{0, 0, 9, "3"}, {1, 0, 4, "3"}}, 0},
		{"too much", []Span{{0, 0, 10, "3"}, {1, 0, 4, "3"}}, 1},
		{"a partition forgotten", []Span{{0, 0, 9, "3"}}, 1},
		{"nothing", nil, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var f Findings
			if Checkpoint(&f, "3", c.state, before); f.Count != c.want {
				t.Errorf("%d findings %v, want %d", f.Count, f.First, c.want)
			}
		})
	}
}

func TestLed(t *testing.T) {
	real := []Place{{0, 0}, {0, 1}, {0, 5}, {1, 0}}
	seen := FirstSeen{{0, 0}: 1, {0, 1}: 1, {0, 5}: 2, {1, 0}: 3}
	at := func(files int, committed map[int32]int64) Sample {
		return Sample{At: time.Second, Committed: committed, Files: files}
	}
	cases := []struct {
		name    string
		samples []Sample
		want    int
	}{
		{"never committed", []Sample{at(0, nil)}, 0},
		{"behind", []Sample{at(1, map[int32]int64{0: 2}), at(3, map[int32]int64{0: 6, 1: 1})}, 0},
		{"over a gap, before the next record", []Sample{at(1, map[int32]int64{0: 5})}, 0},
		{"a file too early", []Sample{at(1, map[int32]int64{0: 6}), at(3, map[int32]int64{0: 6})}, 1},
		{"all too early, counted once", []Sample{at(0, map[int32]int64{0: 6, 1: 1}), at(0, map[int32]int64{0: 6, 1: 1})}, 4},
		{"one partition leads", []Sample{at(2, map[int32]int64{0: 6, 1: 1})}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Led(c.samples, seen, real); got.Count != c.want {
				t.Errorf("%d led %v, want %d", got.Count, got.First, c.want)
			}
		})
	}
	t.Run("in no file", func(t *testing.T) {
		if got := Led([]Sample{at(9, map[int32]int64{0: 2})}, nil, real); got.Count != 2 {
			t.Errorf("%d led, want 2", got.Count)
		}
	})
}
