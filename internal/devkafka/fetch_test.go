package devkafka

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A response that reaches its size limit within a partition must still say
// which of its transactions were aborted.
func TestAbortedRecordsStayHiddenInFullResponses(t *testing.T) {
	b := start(t, Options{Topics: []Topic{{Name: "t", Partitions: 1}}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range 10 {
		transaction(t, ctx, p, i%2 == 0, bytes.Repeat([]byte{byte(i)}, 3000))
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxBytes(8000))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for want := byte(0); want < 10; want += 2 {
		fetches := c.PollRecords(ctx, 1)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range fetches.Records() {
			if r.Value[0] != want {
				t.Fatalf("read record %d, want %d: odd ones were aborted", r.Value[0], want)
			}
		}
	}
}

func transaction(t *testing.T, ctx context.Context, p *kgo.Client, commit bool, value []byte) {
	t.Helper()
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := p.ProduceSync(ctx, kgo.SliceRecord(value)).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := p.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		t.Fatal(err)
	}
}
