package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
	"github.com/twg-io/twg/test/services/postgres"
)

// database is a PostgreSQL server, which the schedule takes away and brings
// back.
type database struct{ *postgres.Server }

// dsnEnv names the database to a host; each host has an application_name of
// its own in it.
const dsnEnv = "TWG_FAULT_DSN"

// startDatabase starts an empty server. A run's directory may lie where the
// server's user cannot go, so its data does not lie there.
func startDatabase(ctx context.Context) (*database, error) {
	s, err := postgres.Start(ctx, postgres.Config{Settings: map[string]string{
		"max_connections":        "100",
		"track_commit_timestamp": "on", // table.Held asks for it
	}})
	if err != nil {
		return nil, err
	}
	return &database{s}, nil
}

func (d *database) close() {
	if d != nil {
		_ = d.Close()
	}
}

func (d *database) down(ctx context.Context, how string) error {
	switch how {
	case "kill":
		d.Kill()
		return nil
	case "immediate": // as pg_ctl stop -m immediate
		pid := d.PID()
		_ = syscall.Kill(pid, syscall.SIGQUIT)
		if !waitGone(pid, deadline()) {
			return errors.New("the database does not end")
		}
		d.Kill() // waits until its end is noticed
		return nil
	case "fast": // as pg_ctl stop -m fast
		return d.Stop(ctx)
	}
	return errors.New("the database knows no way to " + how)
}

// transactions counts those that are open, of connections with a name, and
// those of them that are in a COPY and have written rows.
func (d *database) transactions(ctx context.Context, name string) (open, copying int, err error) {
	r := table.NewReader(d.DSN(""))
	defer r.Close()
	return r.Transactions(ctx, name)
}

// acquired lists the partitions that a host has acquired last.
func (d *database) acquired(ctx context.Context, name string) ([]int32, error) {
	r := table.NewReader(d.DSN(""))
	defer r.Close()
	return r.Acquired(ctx, name)
}

func (d *database) up(ctx context.Context) error { return d.Start(ctx) }

// postgresBlock is a sink whose transactions are small, unless something has
// piled up: then they have the thousand rows that a COPY must have to be seen
// in the table before its end.
func postgresBlock(role string) string {
	return fmt.Sprintf(`  sink "postgres" "raw" {
%s    durable = true
    config {
      dsn              = env(%q)
      table            = %q
      max_tx_rows      = 2000
      connect_patience = "3s"
      max_backoff      = "500ms"
    }
  }
`, role, dsnEnv, table.Raw)
}

// readTable reads table and coverage whole.
func (r *run) readTable(ctx context.Context, v *verdict, ends map[int32]int64) error {
	t := table.NewReader(r.db.DSN(""))
	defer t.Close()
	held, voids, err := t.Coverage(ctx)
	if err != nil {
		return err
	}
	outside := verify.Findings{Kind: "row outside of coverage"}
	claimed := verify.Findings{Kind: "coverage"}
	err = t.Rows(ctx, table.Raw, func(rows []verify.Row) {
		v.rows.Add("the table", rows)
		verify.Inside(&outside, "the table", rows, held)
	})
	if err != nil {
		return err
	}
	v.rows.Claimed(&claimed, held, ends)
	stale, err := t.Stale(ctx)
	if err != nil {
		return err
	}
	v.stale.Kind = "written by another than the owner"
	for _, s := range stale {
		v.stale.Add("%s", s)
	}
	v.others = append(v.others, outside, claimed, verify.Spans(held, voids, r.watch.frontier()))
	return nil
}
