package sink

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// One table, however it is spelled, has one canonical name; two have two.
func TestCanonicalTargets(t *testing.T) {
	of := func(dsn, table string) []string {
		caps, diags := New().Configure(sdk.NewSettings(fmt.Appendf(nil, `{"dsn":%q,"table":%q}`, dsn, table)))
		if diags.HasErrors() || len(caps.CanonicalTargets) == 0 {
			t.Fatal(diags, caps)
		}
		return caps.CanonicalTargets
	}
	orders := of("postgres://u:p@localhost/d", "orders")
	for _, x := range []struct {
		dsn, table string
		same       bool
	}{
		{"postgres://other@127.0.0.1:5432/d", "public.orders", true},
		{"host=localhost dbname=d user=u search_path=lake", "public.orders", true},
		{"host=localhost dbname=d user=u search_path=lake", "orders", false},
		{"postgres://u@localhost/d", "lake.orders", false},
		{"postgres://u@localhost/e", "orders", false},
		{"postgres://u@localhost:5433/d", "orders", false},
		{"host=standby,localhost dbname=d user=u", "orders", true},
	} {
		shared := slices.ContainsFunc(of(x.dsn, x.table), func(c string) bool { return slices.Contains(orders, c) })
		if shared != x.same {
			t.Errorf("%s %s: %q, want one with %q: %t", x.dsn, x.table, of(x.dsn, x.table), orders, x.same)
		}
	}
}
