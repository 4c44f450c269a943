package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/produce"
	"github.com/twg-io/twg/test/faults/schedule"
	"github.com/twg-io/twg/test/faults/tap"
)

// run is one run of the harness: processes, producer, watcher, kills.
type run struct {
	opt   options
	out   io.Writer
	dir   string // logs and the pipeline file
	files string // what the sink writes
	begun time.Time

	broker broker
	tap    *tap.Tap
	starts *starts
	db     *database // nil: the sink writes files
	ctl    *control.Server
	hosts  *hosts
	prod   *produce.Producer
	watch  *watcher
	lanes  *laneWatch // nil: there are no secondaries
	tally  *tally

	mu       sync.Mutex
	problems []string
}

// problem notes a failure that is none of lost, duplicated and led.
func (r *run) problem(kind, format string, args ...any) {
	line := fmt.Sprintf("%s: "+format, append([]any{kind}, args...)...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, line)
	fmt.Fprintf(r.out, "! %s %s\n", r.clock(), line)
}

func (r *run) clock() string { return fmt.Sprintf("%.1fs", time.Since(r.begun).Seconds()) }

// runOnce builds, runs a schedule and judges. It returns what it found.
func runOnce(ctx context.Context, opt options, out io.Writer) (*run, *verdict, error) {
	name := fmt.Sprintf("run-%d", opt.seed)
	if opt.mutant != "" {
		name += "-" + opt.mutant
	}
	dir, err := filepath.Abs(opt.dir)
	if err != nil {
		return nil, nil, err
	}
	r := &run{opt: opt, out: out, dir: filepath.Join(dir, name), begun: time.Now(), tally: newTally(opt.points())}
	r.files = filepath.Join(r.dir, "files")
	if err := os.RemoveAll(r.dir); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(r.files, 0o755); err != nil {
		return nil, nil, err
	}
	kills := schedule.Make(opt.seed, opt.kills, opt.points())
	fmt.Fprintf(out, "seed %d, %d kills, schedule %s%s\n", opt.seed, len(kills), schedule.Hash(kills), mutantNote(opt.mutant))
	bin := filepath.Join(dir, "bin"+opt.mutant)
	if opt.race {
		bin += "-race"
	}
	if err := build(ctx, bin, opt.mutant, opt.race); err != nil {
		return nil, nil, err
	}
	r.begun = time.Now()
	v, err := r.all(ctx, bin, kills)
	return r, v, err
}

func mutantNote(mutant string) string {
	if mutant == "" {
		return ""
	}
	return ", mutant " + mutant
}

// all owns the processes and goroutines of the run.
func (r *run) all(ctx context.Context, bin string, kills []schedule.Kill) (*verdict, error) {
	sockets, err := os.MkdirTemp("", "twg-faults")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(sockets)
	socket := filepath.Join(sockets, "s")
	if r.ctl, err = control.Listen(socket); err != nil {
		return nil, err
	}
	defer r.ctl.Close()
	r.watch = newWatcher(r.opt.group(), r.files)
	r.starts = newStarts(func() []control.Process {
		return r.ctl.Live(func(p control.Process) bool { return roleOf(p.Role) == schedule.Source })
	})
	if r.opt.sink == "postgres" {
		if r.db, err = startDatabase(ctx); err != nil {
			return nil, err
		}
		defer r.db.close()
		r.watch.table = newTableWatch(r.db.DSN(""))
		defer r.watch.table.close()
	}
	if r.broker, err = r.startBroker(ctx); err != nil {
		return nil, err
	}
	defer r.broker.close()
	if err := r.watch.connect(r.broker.addr()); err != nil {
		return nil, err
	}
	if err := r.startHost(bin, socket); err != nil {
		return nil, err
	}
	defer r.hosts.killAll()

	background, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { r.watch.run(background) })
	if r.opt.rawFirst() {
		r.lanes = newLaneWatch(r.db.DSN(""), func() int { return filesBelow(r.files) })
		wg.Go(func() { r.lanes.run(background) })
	}
	return r.underLoad(ctx, kills)
}

func (r *run) startHost(bin, socket string) error {
	file, err := writePipeline(r.dir, r.broker.addr(), r.files, r.opt)
	if err != nil {
		return err
	}
	if r.hosts, err = newHosts(bin, r.dir, file, socket, r.opt.places()); err != nil {
		return err
	}
	if r.db != nil {
		r.hosts.dsn = r.db.DSN("")
	}
	if r.opt.rawFirst() {
		r.hosts.roles = append(r.hosts.roles, rawFirstRoles...)
	}
	return r.hosts.startAll()
}

// startBroker starts the broker that the run is about, behind a tap.
func (r *run) startBroker(ctx context.Context) (b broker, err error) {
	t, err := tap.New(shownRequests, r.shown)
	if err != nil {
		return nil, err
	}
	r.tap = t
	if r.opt.broker == "kafka" {
		b, err = startKafka(ctx, r.dir, t)
	} else {
		b, err = startFake(r.dir, partitions, t)
	}
	if err != nil {
		t.Close()
	}
	return b, err
}

// underLoad produces while it kills, and judges when both are over.
func (r *run) underLoad(ctx context.Context, kills []schedule.Kill) (*verdict, error) {
	var err error
	r.prod, err = produce.New(produce.Config{
		Brokers: []string{r.broker.addr()}, Topic: topicName, Partitions: partitions,
		Seed: r.opt.seed, PerSecond: r.opt.perSecond, LargeAfter: []time.Duration{3 * time.Second, 15 * time.Second},
	})
	if err != nil {
		return nil, err
	}
	producing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.prod.Run(producing); err != nil {
			r.problem("producer", "%v", err)
		}
	})
	stalled := r.killAll(ctx, kills)
	stop()
	wg.Wait()
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	return r.judge(ctx, stalled)
}
