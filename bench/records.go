package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	valueBytes = 410
	// distinct values repeat after about 8 MB, far beyond a Parquet page and
	// a broker batch, so that compression finds no copies.
	distinct = 20_000
)

var fieldNames = [...]string{
	"account", "amount", "basket", "brand", "channel", "city", "colour", "country", "depot", "grade",
	"item", "lane", "margin", "note", "offer", "origin", "price", "route", "shelf", "weight",
}

// makeRecords are JSON orders of about 410 bytes with a 16-byte key and a
// trace header: about 512 bytes a record as Kafka stores it. The same seed
// gives the same records.
func makeRecords(seed uint64) []kgo.Record {
	r := rand.New(rand.NewPCG(seed, seed))
	records := make([]kgo.Record, distinct)
	for i := range records {
		trace := fmt.Sprintf("00-%016x%016x-%016x-01", r.Uint64(), r.Uint64(), r.Uint64())
		records[i] = kgo.Record{
			Key:     fmt.Appendf(nil, "order-%010d", r.IntN(1e9)),
			Value:   makeValue(r),
			Headers: []kgo.RecordHeader{{Key: "traceparent", Value: []byte(trace)}},
		}
	}
	return records
}

func makeValue(r *rand.Rand) []byte {
	b := append(make([]byte, 0, valueBytes+48), `{"id":`...)
	b = strconv.AppendInt(b, r.Int64(), 10)
	for len(b) < valueBytes-14 {
		b = fmt.Appendf(b, `,"%s%d":`, fieldNames[r.IntN(len(fieldNames))], r.IntN(10))
		if r.IntN(2) == 0 {
			b = strconv.AppendInt(b, int64(r.IntN(1e6)), 10)
		} else {
			b = fmt.Appendf(b, `"%s%d"`, fieldNames[r.IntN(len(fieldNames))], r.IntN(1e4))
		}
	}
	return append(b, '}')
}
