//go:build services

package cases

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/hostproc"
	"github.com/twg-io/twg/test/services/postgres"
)

// database is a real PostgreSQL server, and the sink that writes to it.
type database struct {
	t    *testing.T
	conn *pgx.Conn
	sink string
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "twg-plugin-postgres"), "github.com/twg-io/twg/plugins/postgres").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s, err := postgres.Start(t.Context(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close(context.WithoutCancel(t.Context()))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &database{t, conn, fmt.Sprintf(`sink "postgres" "raw" {
    config {
      dsn   = %q
      table = "orders_raw"
    }
  }`, s.DSN(""))}
}

// positions are those of all rows, in order: "0 1 2"; empty without a table.
func (d *database) positions() (out string) {
	d.t.Helper()
	var there bool
	err := d.conn.QueryRow(d.t.Context(), "select to_regclass('orders_raw') is not null").Scan(&there)
	if err == nil && there {
		err = d.conn.QueryRow(d.t.Context(), `select coalesce(string_agg("position"::text, ' ' order by "position"), '') from orders_raw`).Scan(&out)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func upTo(n int) string {
	return strings.Trim(fmt.Sprint(seq(n)), "[]")
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// The database's coverage is the only position: a graceful end, kill -9, a
// second host and the first one's halt in one life of a table.
func TestNamedPartitionsResumeFromPostgres(t *testing.T) {
	w, d := newWorld(t, nil), newDatabase(t)
	file := w.fileWith("", partitionZero+"\n      start = \"latest\"", d.sink)
	mustCatchUp(t, file) // of nothing, and that is remembered
	w.produce(numbered(20)...)
	mustCatchUp(t, file)
	if got := d.positions(); got != upTo(20) {
		t.Fatalf("rows at %s, want the 20 that came after the first start", got)
	}

	p := start(t, file)
	w.produce(numbered(30)...)
	p.Eventually("50 rows", func() bool { return d.positions() == upTo(50) })
	w.produce(numbered(30)...)
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.End()

	first := start(t, file)
	first.Eventually("80 rows", func() bool { return d.positions() == upTo(80) })
	second, n := start(t, file), 80
	second.Eventually("the second host to begin", func() bool {
		w.produce(numbered(1)...)
		n++
		return strings.Contains(first.Said(), "taken over")
	})
	if code := first.End(); code != 1 {
		t.Errorf("the first host ended with %d", code)
	}
	for _, p := range []*hostproc.Host{first, second} {
		if who := fmt.Sprintf("process %d", p.Cmd.Process.Pid); !strings.Contains(first.Said(), who) {
			t.Errorf("the first host does not name %s:\n%s", who, first.Said())
		}
	}
	second.Eventually("all rows", func() bool { return d.positions() == upTo(n) })
	second.Stop()
	if at := w.committed(); at != -1 {
		t.Errorf("committed %d to a broker that was to hear of no position", at)
	}
}
