package footer

import (
	"reflect"
	"strings"
	"testing"
)

func values(f *Footer) map[string]string {
	m := map[string]string{}
	for _, kv := range f.Encode() {
		m[kv.Key] = kv.Value
	}
	return m
}

func from(m map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ key, value, want string }{
		"version":       {keyVersion, "2", "use the twg that wrote it"},
		"commit id":     {keyCommit, "00", "1 bytes instead of 16"},
		"no hex":        {keyCommit, "xx", "commit_id"},
		"kind":          {keyKind, "other", `"other" is not known`},
		"no json":       {keySpans, "[", "twg.spans"},
		"no stream":     {keySpans, `[{"stream":0,"from":0,"next":1}]`, "stream 0 of 0"},
		"negative":      {keySpans, `[{"stream":-1,"from":0,"next":1}]`, "stream -1"},
		"empty span":    {keySpans, `[{"stream":0,"from":1,"next":1}]`, "stream 0 of 0"},
		"no void":       {keyVoids, `[{"stream":0,"from":2,"next":1}]`, "stream 0 of 0"},
		"epoch's token": {keyEpochs, `[{"stream":0,"number":1,"token":"00"}]`, "twg.epochs"},
		"cursor":        {keyCursors, `[{"stream":0,"position":-1,"token":""}]`, "twg.cursors"},
	} {
		t.Run(name, func(t *testing.T) {
			m := values(&Footer{Kind: Data})
			m[c.key] = c.value
			if _, err := decode(from(m)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			delete(m, c.key)
			if _, err := decode(from(m)); err == nil || !strings.Contains(err.Error(), c.key+": missing") {
				t.Errorf("without it: %v", err)
			}
		})
	}
}

func TestDecodeRanges(t *testing.T) {
	for _, bad := range []string{`"from":-1,"next":1`, `"from":1,"next":1`, `"from":0,"next":281474976710657`} {
		m := values(&Footer{Kind: Data})
		m[keyStreams] = `[{"topic":"t"}]`
		m[keySpans] = `[{"stream":0,` + bad + `}]`
		if _, err := decode(from(m)); err == nil || !strings.Contains(err.Error(), "is not a range") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A reason of a later twg is a void all the same.
func TestUnknownReason(t *testing.T) {
	m := values(&Footer{Kind: Record})
	m[keyStreams] = `[{"topic":"t"}]`
	m[keyVoids] = `[{"stream":0,"from":0,"next":4,"reason":"later"}]`
	f, err := decode(from(m))
	if err != nil || len(f.Voids) != 1 || f.Voids[0].Next != 4 {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`[{"topic":"t"}]`, `[{"stream":0,"from":0,"next":4}]`, `[{"stream":0,"from":0,"next":4,"reason":"seek"}]`,
		`[{"stream":0,"number":1,"token":"00000000000000000000000000000000"}]`, `[{"stream":0,"position":4,"token":"AA=="}]`)
	f.Fuzz(func(t *testing.T, streams, spans, voids, epochs, cursors string) {
		m := values(&Footer{Kind: Data})
		m[keyStreams], m[keySpans], m[keyVoids], m[keyEpochs], m[keyCursors] = streams, spans, voids, epochs, cursors
		got, err := decode(from(m))
		if err != nil {
			return
		}
		again, err := decode(from(values(got)))
		if err != nil {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
		if len(got.Spans)+len(got.Voids)+len(got.Epochs)+len(got.Cursors) > 0 && !reflect.DeepEqual(values(got), values(again)) {
			t.Errorf("%+v became %+v", got, again)
		}
	})
}
