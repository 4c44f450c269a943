package main

import (
	"context"
	"sync"
	"time"

	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// lookout finds out, whenever somebody relies on everything below a position,
// what the raw table held at that moment. Its methods may be called from any
// goroutine.
type lookout struct {
	reader *table.Reader
	hear   func(verify.Moment)

	mu     sync.Mutex
	judged map[int32]int64 // everything below was looked for, or is owed
	owed   []verify.Moment // the database was away when they came
}

func newLookout(dsn string, hear func(verify.Moment)) *lookout {
	return &lookout{reader: table.NewReader(dsn), hear: hear, judged: map[int32]int64{}}
}

func (l *lookout) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reader.Close()
}

// relied looks for what lies below next and was not looked for yet. While the
// database is away that is owed: rows bear the time of their commit, so that a
// later look shows no more than one at this moment would have.
func (l *lookout) relied(ctx context.Context, why string, partition int32, next int64) {
	at := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.judged[partition]
	if next <= from {
		return
	}
	l.judged[partition] = next
	l.owed = append(l.owed, verify.Moment{
		Span: verify.Span{Partition: partition, From: from, Next: next}, Why: why, At: at,
	})
	l.pay(ctx)
}

// settle looks for what is owed. It reports how much of it is left.
func (l *lookout) settle(ctx context.Context) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pay(ctx)
	return len(l.owed)
}

func (l *lookout) pay(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	for len(l.owed) > 0 {
		m := l.owed[0]
		held, err := l.reader.Held(ctx, m.Partition, m.From, m.Next, m.At)
		if err != nil {
			return
		}
		m.Held = held
		l.owed = l.owed[1:]
		l.hear(m)
	}
}
