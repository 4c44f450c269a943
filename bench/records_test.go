package main

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestRecordsAreWhatTheDocumentSays(t *testing.T) {
	records := makeRecords(1)
	sum := 0
	for _, r := range records {
		if !json.Valid(r.Value) {
			t.Fatalf("value is no JSON: %s", r.Value)
		}
		if len(r.Key) != 16 || len(r.Headers) != 1 {
			t.Fatalf("key of %d bytes, %d headers", len(r.Key), len(r.Headers))
		}
		sum += len(r.Value)
	}
	if mean := sum / len(records); mean < 400 || mean > 420 {
		t.Errorf("values of %d bytes on average, want about 410", mean)
	}
	if again := makeRecords(1); !reflect.DeepEqual(records, again) {
		t.Error("the same seed gave other records")
	}
}
