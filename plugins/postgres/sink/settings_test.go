package sink

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/plugintest"
)

func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/plugins/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Documented(t, string(page), New().Describe().Schema)
}

func TestConfigure(t *testing.T) {
	plugintest.Settings(t, func() sdk.Plugin { return New() }, map[string][]string{
		`{"dsn":"postgres://u:p@h/d","table":"raw"}`: nil,
		`{"dsn":"host=a,b port=1,2 dbname=d","table":"s.raw","create_table":false,"store_schema":"x y","connections":4,"max_tx_rows":1,"max_tx_bytes":"1MiB","linger":"0s","statement_timeout":"0s"}`: nil,
		`{}`: {"dsn", "table"},
		`{"dsn":"postgres://u:sesame@h:port/d","table":"raw"}`:                               {"dsn"},
		`{"dsn":"host=h password=sesame port=x","table":"a.b.c"}`:                            {"dsn", "table"},
		`{"dsn":"postgres://h/d","table":"\"raw\"","store_schema":"\"x\""}`:                  {"table", "store_schema"},
		`{"dsn":"postgres://h/d","table":"` + strings.Repeat("x", 64) + `"}`:                 {"table"},
		`{"dsn":"postgres://h/d","table":".raw"}`:                                            {"table"},
		`{"dsn":"postgres://h/d","table":"raw","connections":0,"linger":"1m","tabel":"raw"}`: {"tabel", "connections", "linger"},
	}, func(c sdk.Capabilities) string {
		switch {
		case !(c.Durable && c.OffsetStore && c.Fencing && c.Idempotent && c.Replayable && !c.AppendOnly && !c.HoldsUntilClose):
			return "other capabilities than it has"
		case strings.Contains(fmt.Sprint(c.Targets), "u:p"):
			return "a target names the password"
		}
		return ""
	}, "sesame")
}
