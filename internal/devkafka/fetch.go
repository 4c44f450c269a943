package devkafka

import (
	"math"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// limitByPartition keeps aborted records from readers of committed data.
// kfake leaves the list of aborted transactions out of the partition within
// which a response reaches its size limit; so the limit is put on the
// partitions instead, in equal shares.
func limitByPartition(c *kfake.Cluster) {
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if req := r.(*kmsg.FetchRequest); req.IsolationLevel == 1 {
			shareLimit(req)
		}
		return nil, nil, false // and now the broker's own answer
	})
}

func shareLimit(req *kmsg.FetchRequest) {
	n := 0
	for _, t := range req.Topics {
		n += len(t.Partitions)
	}
	// None: a fetch session goes on, in which partitions keep their shares.
	share := max(req.MaxBytes/int32(max(n, 1)), 1)
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			p := &req.Topics[i].Partitions[j]
			p.PartitionMaxBytes = min(p.PartitionMaxBytes, share)
		}
	}
	req.MaxBytes = math.MaxInt32
}
