package rawfile

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/sdk/frame"
)

// Stats are of the rows of one stream.
type Stats struct {
	Rows               int64
	OldestMS, NewestMS int64 // timestamps, if there are rows
}

func (s *Stats) add(rows, oldest, newest int64) {
	if s.Rows == 0 {
		s.OldestMS, s.NewestMS = math.MaxInt64, math.MinInt64
	}
	s.Rows += rows
	s.OldestMS, s.NewestMS = min(s.OldestMS, oldest), max(s.NewestMS, newest)
}

// Stats says what the file's rows are. Row groups of one stream say it
// themselves; of others the columns are read that name the stream.
func (f *File) Stats() (map[frame.Stream]Stats, error) {
	out := map[frame.Stream]Stats{}
	for _, rg := range f.pq.RowGroups() {
		if statsByBounds(out, rg) {
			continue
		}
		if err := statsByRows(out, rg); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var streamColumns = []int{colCluster, colTopic, colIncarnation, colPartition}

func statsByBounds(out map[frame.Stream]Stats, rg parquet.RowGroup) bool {
	chunks := rg.ColumnChunks()
	var vs [5]parquet.Value
	for i, col := range streamColumns {
		lo, hi, ok := bounds(chunks[col])
		if !ok || chunks[col].Type().Compare(lo, hi) != 0 {
			return false
		}
		vs[i] = lo
	}
	oldest, newest, ok := bounds(chunks[colTimestamp])
	if ok {
		s := streamOf(vs[:])
		st := out[s]
		st.add(rg.NumRows(), oldest.Int64(), newest.Int64())
		out[s] = st
	}
	return ok
}

func statsByRows(out map[frame.Stream]Stats, rg parquet.RowGroup) error {
	chunks := rg.ColumnChunks()
	var cur [5]*cursor
	for i, col := range append(streamColumns[:4:4], colTimestamp) {
		cur[i] = newCursor(chunks[col])
		defer cur[i].close()
	}
	var last frame.Stream
	var st Stats
	for row := range rg.NumRows() {
		var vs [5]parquet.Value
		for i, c := range cur {
			var err error
			if vs[i], err = c.one(row); err != nil {
				return err
			}
		}
		if row == 0 || !isStream(last, vs[:]) {
			out[last] = st
			last = streamOf(vs[:])
			st = out[last]
		}
		st.add(1, vs[4].Int64(), vs[4].Int64())
	}
	out[last] = st
	for s, st := range out {
		if st.Rows == 0 {
			delete(out, s)
		}
	}
	return nil
}

func streamOf(vs []parquet.Value) frame.Stream {
	return frame.Stream{Cluster: string(vs[0].ByteArray()), Topic: string(vs[1].ByteArray()),
		Incarnation: string(vs[2].ByteArray()), Partition: vs[3].Int32()}
}

func isStream(s frame.Stream, vs []parquet.Value) bool {
	return vs[3].Int32() == s.Partition && string(vs[1].ByteArray()) == s.Topic &&
		string(vs[2].ByteArray()) == s.Incarnation && string(vs[0].ByteArray()) == s.Cluster
}
