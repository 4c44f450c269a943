package readback

import (
	"encoding/json"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/test/faults/verify"
)

// claims is what a file's metadata says (docs/storage.md), read here without
// the product's code. Voids have the shape of spans; their reason is not
// looked at.
type claims struct {
	kind         string
	spans, voids []verify.Span
}

func footer(f *parquet.File, name string) (claims, error) {
	var c claims
	var ok bool
	if c.kind, ok = f.Lookup("twg.kind"); !ok {
		return c, fmt.Errorf("read %s: its footer has no twg.kind", name)
	}
	var streams []struct {
		Partition int32 `json:"partition"`
	}
	if err := metadata(f, name, "twg.streams", &streams); err != nil {
		return c, err
	}
	for key, into := range map[string]*[]verify.Span{"twg.spans": &c.spans, "twg.voids": &c.voids} {
		var list []struct{ Stream, From, Next int64 }
		if err := metadata(f, name, key, &list); err != nil {
			return c, err
		}
		for _, s := range list {
			if s.Stream < 0 || int(s.Stream) >= len(streams) {
				return c, fmt.Errorf("read %s: %s names stream %d of %d", name, key, s.Stream, len(streams))
			}
			*into = append(*into, verify.Span{Partition: streams[s.Stream].Partition, From: s.From, Next: s.Next, File: name})
		}
	}
	return c, nil
}

func metadata(f *parquet.File, name, key string, into any) error {
	text, ok := f.Lookup(key)
	if !ok {
		return fmt.Errorf("read %s: its footer has no %s", name, key)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("read %s: %s: %w", name, key, err)
	}
	return nil
}
