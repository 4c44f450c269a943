package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// What is expected of recovery.
const (
	minRebuildRatio = 0.8 // of the live write rate
	maxBesideLoss   = 0.1 // of the live rate
)

// besideTopics are read live while the first topic is rebuilt, and while it is
// not.
var besideTopics = [...]string{"plain-without", "plain-beside"}

const (
	liveRate           = "written live into PostgreSQL"
	rebuildRate        = "rebuilt from PostgreSQL into PostgreSQL, alone"
	liveCPU            = "CPU of host, plugins and broker, live"
	liveDatabaseCPU    = "CPU of the database, live"
	rebuildHostCPU     = "CPU of the host, rebuilding alone"
	rebuildSinkCPU     = "CPU of both plugins, rebuilding alone"
	rebuildDatabaseCPU = "CPU of the database, rebuilding alone"
	withoutRate        = "live, without recovery"
	besideRate         = "live, with recovery beside"
	besideWork         = "rebuilt meanwhile"
	besideLeft         = "left to rebuild then"
)

// copyDatabase is the secondary's.
const copyDatabase = "bench_copy"

// recoveryPair writes a topic live while the secondary is down, rebuilds that
// by a recovery host alone, and then reads two more topics live: in a host that
// ingests only, and in one that rebuilds another secondary beside.
func (h *harness) recoveryPair(ctx context.Context, c benchCase, swap bool) (sample, error) {
	t, err := h.fresh(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := h.freshCopy(ctx); err != nil {
		return nil, err
	}
	top := topology{role: "ingest", topics: t.topics, secondaries: []secondary{copyTable(nowhere, "copy", tableName)}}
	l, err := h.runLive(ctx, t, top, c.topic, false)
	if err != nil {
		return nil, err
	}
	millions := float64(h.options.Records) / 1e6
	s := sample{liveRate: l.rowsPerSecond, liveCPU: l.total() / millions, liveDatabaseCPU: l.cpu[roleDatabase] / millions}
	if err := h.rebuildAlone(ctx, t, s); err != nil {
		return nil, err
	}
	if err := h.checkCopy(ctx, t); err != nil {
		return nil, fmt.Errorf("left in %s: %w", t.dir, err)
	}
	return s, errors.Join(h.beside(ctx, t, swap, s), os.RemoveAll(t.dir))
}

// freshCopy makes the secondary's database anew.
func (h *harness) freshCopy(ctx context.Context) error {
	for _, sql := range []string{"drop database if exists " + copyDatabase + " with (force)", "create database " + copyDatabase} {
		if _, err := h.database.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return h.checkpoint(ctx)
}

// checkpoint has the server write out what earlier runs left in its memory. It
// would do so in the middle of a later run, whose rate is compared.
func (h *harness) checkpoint(ctx context.Context) error {
	if _, err := h.database.conn.Exec(ctx, "checkpoint"); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// rebuildAlone measures from the first window that is claimed until none is
// left.
func (h *harness) rebuildAlone(ctx context.Context, t task, into sample) error {
	ctx, cancel := context.WithTimeout(ctx, patience(t.records()))
	defer cancel()
	top := topology{role: "recovery", topics: t.topics, secondaries: []secondary{copyTable(h.database.server.DSN(copyDatabase), "copy", tableName)}}
	file, err := h.writeFile(t, top)
	if err := errors.Join(err, h.checkpoint(ctx)); err != nil {
		return err
	}
	windows := watchWindows(ctx, h.database.server.DSN(""))
	s, watch, err := h.watch(h.twg(ctx, "run", "--json", "--until-caught-up", file), roleHost, nil)
	took, werr := windows.finish()
	if err := errors.Join(err, werr); err != nil {
		return fmt.Errorf("recovery host, left in %s: %w", t.dir, err)
	}
	if n := s.lanes()["copy"].Rebuilt; n != t.records() {
		return fmt.Errorf("wrong result: %d of %d records were rebuilt", n, t.records())
	}
	into[rebuildRate] = float64(t.records()) / took.Seconds()
	cpu := func(role string) float64 {
		return watch.cpuSeconds(role, windows.first, windows.last) * 1e6 / float64(t.records())
	}
	into[rebuildHostCPU], into[rebuildSinkCPU], into[rebuildDatabaseCPU] = cpu(roleHost), cpu(roleSink), cpu(roleDatabase)
	return nil
}

// checkCopy compares the two tables row for row.
func (h *harness) checkCopy(ctx context.Context, t task) error {
	raw, err := readTable(ctx, h.database.conn, t.topics, t.options.Records)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, h.database.server.DSN(copyDatabase))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	got, err := readTable(ctx, conn, t.topics, t.options.Records)
	if err != nil {
		return fmt.Errorf("the rebuilt table: %w", err)
	}
	if got.ids != raw.ids || got.content != raw.content {
		return fmt.Errorf("wrong result: the rebuilt table differs from raw: %s, %s", got.content, raw.content)
	}
	return nil
}

// beside reads two topics live, one of them with recovery at work. The host has
// the first topic too: its secondary, which is a new one, lacks it.
func (h *harness) beside(ctx context.Context, t task, swap bool, s sample) error {
	run := func(role, topic string) (live, error) {
		top := topology{role: role, topics: append([]string{topic}, t.topics...),
			secondaries: []secondary{copyTable(h.database.server.DSN(copyDatabase), role, "beside_"+role)}}
		if err := h.checkpoint(ctx); err != nil {
			return live{}, err
		}
		return h.runLive(ctx, t, top, topic, true)
	}
	var without, with live
	steps := []func() error{
		func() (err error) { without, err = run("ingest", besideTopics[0]); return err },
		func() (err error) { with, err = run("both", besideTopics[1]); return err },
	}
	if err := inOrder(swap, steps); err != nil {
		return err
	}
	lane := with.lanes["both"]
	s[withoutRate], s[besideRate] = without.rowsPerSecond, with.rowsPerSecond
	s[besideWork], s[besideLeft] = float64(lane.Rebuilt), float64(t.options.Records-lane.Rebuilt)
	return nil
}

func concludeRecovery(s *scenario) {
	s.show("rows/s", liveRate, rebuildRate, withoutRate, besideRate)
	s.show("s/M", liveCPU, liveDatabaseCPU, rebuildHostCPU, rebuildSinkCPU, rebuildDatabaseCPU)
	s.show("rows", besideWork, besideLeft)
	s.judge(
		atLeast("records that were rebuilt beside, at least", s.least(besideWork), 1),
		atLeast("rate, rebuilt alone to live", s.ratio(rebuildRate, liveRate), minRebuildRatio),
		atMost("part of the live rate that recovery beside it takes", 1-s.ratio(besideRate, withoutRate), maxBesideLoss, ""),
	)
}
