package sink

import (
	"os"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/plugintest"
)

func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/plugins/parquet.md")
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Documented(t, string(page), New().Describe().Schema)
}

func TestConfigure(t *testing.T) {
	plugintest.Settings(t, func() sdk.Plugin { return New() }, map[string][]string{
		`{"dir":"x"}`: nil,
		`{"dir":"x","create":false,"max_file_bytes":"1GiB","max_file_rows":1,"max_file_age":"1m","compression":"none","compression_level":4,"row_group_rows":1}`: nil,
		`{}`:                               {"dir"},
		`{"dir":"","compression":"gzip"}`:  {"dir", "compression"},
		`{"dir":"x","max_file_rows":0}`:    {"max_file_rows"},
		`{"dir":"x","row_group_rows":-1}`:  {"row_group_rows"},
		`{"dir":"x","max_file_age":"0s"}`:  {"max_file_age"},
		`{"dir":"x","max_file_bytes":"1"}`: {"max_file_bytes"},
		`{"dir":"x","directory":"y"}`:      {"directory"},
	}, func(c sdk.Capabilities) string {
		if c.Durable && c.OffsetStore && c.Fencing && c.Idempotent && c.HoldsUntilClose && c.Replayable && !c.AppendOnly {
			return ""
		}
		return "other capabilities than it has"
	})
}
