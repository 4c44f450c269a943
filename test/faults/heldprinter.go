package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// heldPrinter looks into the raw table at each commit request, before the
// broker carries it out.
type heldPrinter struct {
	topic  string
	reader *table.Reader
	judged map[int32]int64 // everything below was printed
}

func newHeldPrinter(topic, dsn string) *heldPrinter {
	return &heldPrinter{topic, table.NewReader(dsn), map[int32]int64{}}
}

func (h *heldPrinter) close() { h.reader.Close() }

// print prints what the table holds below each offset and was not printed yet.
// A request that comes while the database is away is judged with the next one.
func (h *heldPrinter) print(r *kmsg.OffsetCommitRequest) {
	ctx, cancel := context.WithTimeout(context.Background(), sampleWithin)
	defer cancel()
	for _, t := range r.Topics {
		if t.Topic != h.topic && t.Topic != "" {
			continue
		}
		for _, p := range t.Partitions {
			from := h.judged[p.Partition]
			if p.Offset <= from {
				continue
			}
			held, err := h.reader.Held(ctx, p.Partition, from, p.Offset)
			if err != nil {
				continue
			}
			h.judged[p.Partition] = p.Offset
			fmt.Println(heldLine(p.Partition, from, p.Offset, held))
		}
	}
}

func heldLine(partition int32, from, next int64, held []int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "held %d %d %d", partition, from, next)
	for _, at := range held {
		fmt.Fprintf(&b, " %d", at)
	}
	return b.String()
}

// parseHeld is the other end of heldLine.
func parseHeld(line string) (m verify.Moment, ok bool) {
	words := strings.Fields(line)
	if len(words) < 4 || words[0] != "held" {
		return m, false
	}
	numbers := make([]int64, 0, len(words)-1)
	for _, w := range words[1:] {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return m, false
		}
		numbers = append(numbers, n)
	}
	m.Span = verify.Span{Partition: int32(numbers[0]), From: numbers[1], Next: numbers[2]}
	m.Held = numbers[3:]
	return m, true
}
