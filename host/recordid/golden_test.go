package recordid

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/twg-io/twg/sdk/frame"
)

// vector is one entry of testdata/ids.json: bytes in hex, the position as a
// decimal string, a null value as null. value_repeat, where it is there, says
// how many times value stands.
type vector struct {
	Cluster     string  `json:"cluster"`
	Topic       string  `json:"topic"`
	Incarnation string  `json:"incarnation"`
	Partition   int32   `json:"partition"`
	Position    string  `json:"position"`
	Value       *string `json:"value"`
	ValueRepeat int     `json:"value_repeat"`
	Stream      string  `json:"stream_canonical"`
	ID          string  `json:"id"`
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v vector) value(t *testing.T) []byte {
	if v.Value == nil {
		return nil
	}
	out := []byte{}
	for range max(v.ValueRepeat, 1) {
		out = append(out, unhex(t, *v.Value)...)
	}
	return out
}

// TestGoldenIDs: the vectors were computed by another implementation of
// XXH3-64 than the one in use here.
func TestGoldenIDs(t *testing.T) {
	b, err := os.ReadFile("testdata/ids.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(b, &vectors); err != nil || len(vectors) < 10 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	var h Hasher
	for i, v := range vectors {
		s := frame.Stream{
			Cluster: string(unhex(t, v.Cluster)), Topic: string(unhex(t, v.Topic)),
			Incarnation: string(unhex(t, v.Incarnation)), Partition: v.Partition,
		}
		if got := hex.EncodeToString(appendStream(nil, s)); got != v.Stream {
			t.Errorf("vector %d: canonical stream %s, want %s", i, got, v.Stream)
		}
		position, err := strconv.ParseInt(v.Position, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		id, err := h.ID(s, position, v.value(t))
		if got := hex.EncodeToString(id[:]); err != nil || got != v.ID {
			t.Errorf("vector %d: id %s (%v), want %s", i, got, err, v.ID)
		}
	}
}
