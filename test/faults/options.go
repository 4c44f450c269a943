package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/twg-io/twg/test/faults/schedule"
)

// mutants are the builds with a known flaw that the harness must find, by sink.
var mutants = map[string][]string{
	"parquet":  {"commit-on-send", "no-fsync", "skip-coverage"},
	"postgres": {"commit-on-send", "commit-on-write", "no-epoch"},
}

// rawFirstMutants are the ones that the topology raw-first is there to find.
var rawFirstMutants = []string{"no-fence", "cover-before-receipt", "no-live-floor"}

// mutantKills is how many kills a mutant gets when none are asked for.
const mutantKills = 24

type options struct {
	kills         int
	seed          uint64
	mutant        string
	printSchedule bool
	dir           string
	perSecond     int
	race          bool
	granularity   string
	sleepers      int
	freeze        int
	broker        string
	protocol      string
	hosts         int
	sink          string
	positions     string
	topology      string
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("faults", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.kills, "kills", 0, "number of kills (default 100, in mutant mode 24 at most)")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of schedule and records")
	fs.StringVar(&o.mutant, "mutant", "", "run a build with a flaw that must be found: with -sink parquet commit-on-send, no-fsync, skip-coverage or all, with postgres commit-on-send, commit-on-write, no-epoch or all")
	fs.BoolVar(&o.printSchedule, "print-schedule", false, "print the schedule of the seed and end")
	fs.StringVar(&o.dir, "dir", "out/faults", "where binaries, logs and files go")
	fs.IntVar(&o.perSecond, "rate", 800, "records produced a second")
	fs.StringVar(&o.granularity, "granularity", "batch", "granularity of the pipeline: batch or record")
	fs.StringVar(&o.topology, "topology", "one-sink", "one-sink, or raw-first: a host that ingests into a PostgreSQL table, two that rebuild two secondaries from it")
	fs.IntVar(&o.sleepers, "sleepers", 20, "after how many kills a host is put to sleep, replaced and woken; 0: never")
	fs.IntVar(&o.freeze, "freeze", 0, "after how many kills a plugin is stopped for good and must be replaced (about 20 s each); 0: never")
	fs.StringVar(&o.broker, "broker", "fake", "fake: an in-process broker that is not killed; kafka: a real one, whose restarts are among the faults")
	fs.StringVar(&o.protocol, "group-protocol", "classic", "of kafka-source: classic or, over a real broker, consumer (KIP-848)")
	fs.StringVar(&o.sink, "sink", "parquet", "where the records go: parquet, or postgres, a real server whose restarts are among the faults")
	fs.StringVar(&o.positions, "positions", "broker", "who keeps the position: broker, for a group, or store: the sink, for named partitions")
	fs.IntVar(&o.hosts, "hosts", 1, "how many hosts run side by side in one group; with -positions store, 2: a second one starts from time to time and takes over")
	fs.BoolVar(&o.race, "race", false, "build with the race detector; a race fails the run (needs a C compiler)")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.rawFirst() {
		o.sink = "postgres"
	}
	if o.kills == 0 {
		if o.kills = 100; o.mutant != "" {
			o.kills = mutantKills
		}
	}
	return o, o.check(fs)
}

func (o options) check(fs *flag.FlagSet) error {
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.kills < 0:
		return errors.New("-kills must not be negative")
	case o.perSecond < 20:
		return errors.New("-rate must be at least 20 records a second")
	case o.broker != "fake" && o.broker != "kafka":
		return fmt.Errorf("-broker %q is neither fake nor kafka", o.broker)
	case o.protocol != "classic" && o.protocol != "consumer":
		return fmt.Errorf("-group-protocol %q is neither classic nor consumer", o.protocol)
	case mutants[o.sink] == nil:
		return fmt.Errorf("-sink %q is neither parquet nor postgres", o.sink)
	case o.topology != "one-sink" && !o.rawFirst():
		return fmt.Errorf("-topology %q is neither one-sink nor raw-first", o.topology)
	case o.rawFirst() && (o.hosts > 1 || o.named()):
		return errors.New("-topology raw-first has hosts of its own, in one group")
	case o.mutant != "" && o.mutant != "all" && !slices.Contains(o.mutants(), o.mutant):
		return fmt.Errorf("-mutant %q is none of %v or all", o.mutant, o.mutants())
	case o.positions != "broker" && o.positions != "store":
		return fmt.Errorf("-positions %q is neither broker nor store", o.positions)
	case o.positions == "store" && o.hosts > 2:
		return errors.New("-positions store allows one host and a rival, not more")
	case o.hosts < 1 || o.hosts > 4:
		return fmt.Errorf("-hosts must be 1 to 4, not %d", o.hosts)
	}
	return nil
}

// group is the consumer group of the run; empty: there is none.
func (o options) group() string {
	if o.named() {
		return ""
	}
	return groupName
}

// named: the pipeline names its partitions, and the sink keeps the position.
func (o options) named() bool { return o.positions == "store" }

// places is how many hosts run all the time. Two that read the same named
// partitions are a mistake, which the run makes on purpose now and then.
func (o options) places() int {
	switch {
	case o.named():
		return 1
	case o.rawFirst():
		return len(rawFirstRoles)
	}
	return o.hosts
}

// points are the moments at which the run kills.
func (o options) points() []schedule.Point {
	points := schedule.Points()
	switch {
	case o.rawFirst():
		points = append(schedule.RawFirstPoints(), schedule.DatabasePoints()...)
	case o.sink == "postgres":
		points = append(schedule.PostgresPoints(), schedule.DatabasePoints()...)
	}
	if o.broker == "kafka" {
		points = append(points, schedule.BrokerPoints()...)
	}
	if o.named() { // then a source stores nothing when it is told of a commit
		points = slices.DeleteFunc(points, func(p schedule.Point) bool {
			return p.Role == schedule.Source && (p.Name == "commit" || p.Name == "committed")
		})
	}
	return points
}

// each returns the options of every mutant that is asked for.
func (o options) each() []options {
	names := []string{o.mutant}
	if o.mutant == "all" {
		names = o.mutants()
	}
	var out []options
	for _, m := range names {
		one := o
		one.mutant = m
		if m == "no-epoch" || m == "no-fence" { // only a host that wakes can show it
			one.sleepers = min(one.sleepers, 4)
		}
		out = append(out, one)
	}
	return out
}

// rawFirst: several sinks, of which one gates, and hosts that recover.
func (o options) rawFirst() bool { return o.topology == "raw-first" }

// mutants are those that the run can find.
func (o options) mutants() []string {
	if o.rawFirst() {
		return rawFirstMutants
	}
	return mutants[o.sink]
}
