package verify

import "testing"

func TestLedTable(t *testing.T) {
	real := []Place{{0, 0}, {0, 1}, {0, 5}, {1, 0}}
	at := func(partition int32, from, next int64, held ...int64) Moment {
		return Moment{Span: Span{Partition: partition, From: from, Next: next}, Held: held}
	}
	cases := []struct {
		name    string
		moments []Moment
		want    int
	}{
		{"never committed", nil, 0},
		{"all there", []Moment{at(0, 0, 2, 0, 1), at(0, 2, 6, 5), at(1, 0, 1, 0)}, 0},
		{"over a gap", []Moment{at(0, 0, 5, 0, 1)}, 0},
		{"one too early", []Moment{at(0, 0, 6, 0, 1)}, 1},
		{"another partition's row does not count", []Moment{at(1, 0, 1)}, 1},
		{"counted once", []Moment{at(0, 0, 2), at(0, 0, 2)}, 2},
		{"there later is too late", []Moment{at(0, 0, 6, 0, 1), at(0, 0, 6, 0, 1, 5)}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := LedTable(c.moments, real); got.Count != c.want {
				t.Errorf("%d led %v, want %d", got.Count, got.First, c.want)
			}
		})
	}
}

func TestClaimed(t *testing.T) {
	r := NewRows(topic, []Record{rec(0, 0), rec(0, 1), rec(0, 7)})
	r.Add("table", rows(0, 0, 1))
	cases := []struct {
		name string
		held []Span
		want int
	}{
		{"nothing", nil, 0},
		{"what is there", []Span{{0, 0, 1, ""}}, 0},
		{"gaps", []Span{{0, 0, 1, ""}, {0, 2, 7, ""}}, 0},
		{"a record without a row", []Span{{0, 0, 2, ""}}, 1},
		{"beyond the topic", []Span{{0, 2, 7, ""}, {0, 8, 10, ""}}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var f Findings
			if r.Claimed(&f, c.held, map[int32]int64{0: 9}); f.Count != c.want {
				t.Errorf("%d findings %v, want %d", f.Count, f.First, c.want)
			}
		})
	}
}
