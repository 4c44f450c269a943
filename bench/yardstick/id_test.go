package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// The product's golden vectors: all byte strings in hex.
const goldenIDs = "../../host/recordid/testdata/ids.json"

func TestIDsAgreeWithTheGoldenVectors(t *testing.T) {
	b, err := os.ReadFile(goldenIDs)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Cluster, Topic, Incarnation string
		Partition                   int32
		Position                    int64 `json:",string"`
		Value                       *string
		ValueRepeat                 int `json:"value_repeat"`
		ID                          string
	}
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) == 0 {
		t.Fatal("no vectors")
	}
	for i, v := range vectors {
		var value []byte
		if v.Value != nil {
			value = bytes.Repeat(unhex(t, *v.Value), max(v.ValueRepeat, 1))
		}
		m := newIDMaker(string(unhex(t, v.Cluster)), string(unhex(t, v.Topic)), string(unhex(t, v.Incarnation)), v.Partition)
		id := m.id(v.Position, value)
		if got := hex.EncodeToString(id[:]); got != v.ID {
			t.Errorf("vector %d: %s, want %s", i, got, v.ID)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
