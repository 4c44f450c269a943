package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// options are what the environment chose.
type options struct {
	Records     int64 `json:"records"`
	Runs        int   `json:"runs"`
	RowsPerFile int64 `json:"rows_per_file"`
	only        []string
	profile     bool
	out         string // directory for binaries, runs and the report
}

// benchCase is a row of the table: a topic of one compression, and a sink.
type benchCase struct {
	name  string
	topic string
	codec string
	sink  string
	// scenario is one whose steps are its own; empty: twg against the yardstick,
	// and nothing else.
	scenario string
}

const (
	parquetSink  = "parquet"
	postgresSink = "postgres"
)

var allCases = []benchCase{
	{"kafka-parquet", "plain", "none", parquetSink, ""},
	{"kafka-parquet-zstd", "zstd", "zstd", parquetSink, ""},
	{"kafka-postgres", "plain", "none", postgresSink, ""},
	{"kafka-postgres-zstd", "zstd", "zstd", postgresSink, ""},
	{rawFirstRow, "plain", "none", postgresSink, rawFirstRow},
	{deadRow, "plain", "none", postgresSink, deadRow},
	{recoveryRow, "plain", "none", postgresSink, recoveryRow},
	{flowRow, "plain", "none", parquetSink, flowRow},
	{flowRow + "-postgres", "plain", "none", postgresSink, flowRow},
}

// topics are those that the case reads, all of one codec.
func (c benchCase) topics() []string {
	if c.scenario == recoveryRow {
		return append([]string{c.topic}, besideTopics[:]...)
	}
	return []string{c.topic}
}

const partitions = 4

func parseOptions(env func(string) string) (options, error) {
	o := options{Records: 1_000_000, Runs: 3, RowsPerFile: 100_000, profile: env("PROFILE") != "", out: "bench/out"}
	var err error
	if s := env("ROWS"); s != "" {
		if o.Records, err = strconv.ParseInt(s, 10, 64); err != nil || o.Records < partitions {
			return o, fmt.Errorf("ROWS=%s: want a number of records, at least %d", s, partitions)
		}
	}
	if s := env("RUNS"); s != "" {
		if o.Runs, err = strconv.Atoi(s); err != nil || o.Runs < 1 {
			return o, fmt.Errorf("RUNS=%s: want a number of pairs, at least 1", s)
		}
	}
	if s := env("ONLY"); s != "" {
		o.only = strings.Split(s, ",")
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(allCases, func(c benchCase) bool { return c.name == name }) {
			return o, fmt.Errorf("ONLY=%s: no such row; there are %s", name, caseNames())
		}
	}
	return o, nil
}

func (o options) outFile() string { return filepath.Join(o.out, "latest.json") }
func (o options) binDir() string  { return filepath.Join(o.out, "bin") }

// cases are the rows that were asked for.
func (o options) cases() []benchCase {
	var cs []benchCase
	for _, c := range allCases {
		if len(o.only) == 0 || slices.Contains(o.only, c.name) {
			cs = append(cs, c)
		}
	}
	return cs
}

// pairCases are those of the cases that are twg against the yardstick.
func (o options) pairCases() []benchCase {
	return slices.DeleteFunc(o.cases(), func(c benchCase) bool { return c.scenario != "" })
}

// has reports whether one of the rows is of that scenario.
func (o options) has(scenario string) bool {
	return slices.ContainsFunc(o.cases(), func(c benchCase) bool { return c.scenario == scenario })
}

// needsDatabase reports whether one of the rows is of PostgreSQL.
func (o options) needsDatabase() bool {
	return slices.ContainsFunc(o.cases(), func(c benchCase) bool { return c.sink == postgresSink })
}

func caseNames() string {
	var names []string
	for _, c := range allCases {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}
