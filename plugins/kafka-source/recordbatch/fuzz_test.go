package recordbatch

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzRead: any bytes give records or an error, never a panic and never more
// than the limit.
func FuzzRead(f *testing.F) {
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		m := made{first: 9, records: []kmsg.Record{rec(0, "k", "v", kmsg.Header{Key: "h"}), rec(1, "", "value")}, codec: codec}
		f.Add(m.bytes(f))
		m.xerial = true
		f.Add(m.bytes(f))
	}
	f.Add(marker(1, 2, 0).bytes(f))
	f.Add([]byte("short"))
	const limit = 1 << 16
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > crcFrom {
			in = seal(in) // else nearly all is refused by length or checksum
		}
		next, whole := Next(in, 0, func(int32, int64) {})
		b, rest, err := Read(in)
		if err != nil {
			if whole > 0 && errors.Is(err, ErrPartial) {
				t.Fatal("Next found a whole batch where Read finds a part")
			}
			return
		}
		if b.Len+len(rest) != len(in) || next < b.Next || whole < b.Len {
			t.Fatalf("batch of %d bytes up to %d and %d bytes left of %d; Next says %d and %d", b.Len, b.Next, len(rest), len(in), next, whole)
		}
		d := NewDecompressor(limit)
		defer d.Close()
		payload, err := d.Expand(&b)
		if err != nil {
			return
		}
		if b.Codec() != 0 && len(payload) > limit {
			t.Fatalf("expanded to %d bytes over a limit of %d", len(payload), limit)
		}
		walk(t, &b, payload)
	})
}

func walk(t *testing.T, b *Batch, payload []byte) {
	var r Reader
	size, n := 0, 0
	for r.Reset(b, payload); ; n++ {
		x := r.Next()
		if x == nil {
			break
		}
		size += len(x.Key) + len(x.Value)
		for _, h := range x.Headers {
			size += len(h.Name) + len(h.Value)
		}
		if x.Offset < b.First || x.Offset >= b.Next {
			t.Fatalf("offset %d outside of [%d,%d)", x.Offset, b.First, b.Next)
		}
	}
	if size > len(payload) || r.Err() == nil && n != b.Records {
		t.Fatalf("%d of %d records with %d bytes out of %d, error %v", n, b.Records, size, len(payload), r.Err())
	}
}
