// Package schedule decides, from a seed alone, which process the harness
// kills at which moment.
package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// Role is one of the three kinds of process, or a server beside them.
type Role string

const (
	Host   Role = "host"
	Source Role = "source"
	Sink   Role = "sink"
	Broker Role = "broker"
	// Database is the sink's.
	Database Role = "database"

	// Raw-first has more: the secondaries' plugins beside the host that
	// ingests, the hosts that recover, and the plugins of those.
	Secondary Role = "secondary"
	Recoverer Role = "recoverer"
	Replayer  Role = "replayer" // reads raw, has the windows
	Rebuilder Role = "rebuilder"
)

// Point is a named moment in a process of a role.
type Point struct {
	Role Role
	Name string
	// MaxHits bounds the hit that is drawn: rare moments get the first few,
	// frequent ones reach further into the stream.
	MaxHits int
	// Provoke is the role that must be killed for the moment to come at all:
	// a stream is started and acquired only when something was lost. Empty:
	// the moment comes by itself.
	Provoke Role
}

func (p Point) String() string { return string(p.Role) + "/" + p.Name }

// Points are all moments that the product names with faultpoint.Hit, with the
// parquet sink.
func Points() []Point {
	return append(common(),
		Point{Sink, "write", 12, ""},
		Point{Sink, "close", 3, ""},
		Point{Sink, "fsync", 3, ""},
		Point{Sink, "link", 3, ""},
		Point{Sink, "dirsync", 3, ""},
		Point{Sink, "receipt", 3, ""},
		Point{Sink, "acquire", 1, Source},
	)
}

// PostgresPoints are those with the postgres sink.
func PostgresPoints() []Point {
	return append(common(),
		Point{Sink, "write", 12, ""},
		Point{Sink, "copying", 12, ""},
		Point{Sink, "copied", 12, ""},
		Point{Sink, "committed", 12, ""},
		Point{Sink, "receipt", 12, ""},
		Point{Sink, "acquire", 1, Source},
	)
}

// DatabasePoints are the ways in which the sink's database goes away: all its
// processes are killed, or it is stopped, without a checkpoint or with one, and
// started again on the same data.
func DatabasePoints() []Point {
	return []Point{{Database, "kill", 1, ""}, {Database, "immediate", 1, ""}, {Database, "fast", 1, ""}}
}

// common are the points of host and source.
func common() []Point {
	return []Point{
		{Source, "poll", 12, ""},
		{Source, "send", 12, ""},
		{Source, "commit", 4, ""},
		{Source, "committed", 4, ""},
		{Host, "track", 12, ""},
		{Host, "write", 12, ""},
		{Host, "receipt", 8, ""},
		{Host, "commit", 4, ""},
		{Host, "start", 1, Source},
	}
}

// BrokerPoints are the ways in which a real broker goes away: it is killed, or
// it is stopped in good order, and started again on the same data. The moment
// is random: it has no points of ours.
func BrokerPoints() []Point {
	return []Point{{Broker, "kill", 1, ""}, {Broker, "stop", 1, ""}}
}

// Kill is one entry of a schedule: the process of Point.Role dies at the
// Hits'th time that it comes to the point, together with Also.
type Kill struct {
	N     int
	Point Point
	Hits  int
	Also  Role
}

func (k Kill) String() string {
	s := fmt.Sprintf("%d %s hit %d", k.N, k.Point, k.Hits)
	if k.Point.Provoke != "" {
		s += " after the loss of the " + string(k.Point.Provoke)
	}
	if k.Also != "" {
		s += " with the " + string(k.Also)
	}
	return s
}

// pairEvery is how often a kill takes a second process with it.
const pairEvery = 8

// Make returns the first n kills of a seed at points. Kills are drawn evenly:
// every point comes once before any comes again. A longer schedule begins with
// the shorter one of the same seed.
func Make(seed uint64, n int, points []Point) []Kill {
	rng := rand.New(rand.NewPCG(seed, 0x747767))
	kills := make([]Kill, 0, n)
	for len(kills) < n {
		round := rng.Perm(len(points))
		for _, at := range round {
			p := points[at]
			k := Kill{N: len(kills) + 1, Point: p, Hits: 1 + rng.IntN(p.MaxHits)}
			if rng.IntN(pairEvery) == 0 {
				k.Also = other(rng, p.Role, points)
			}
			if kills = append(kills, k); len(kills) == n {
				break
			}
		}
	}
	return kills
}

// other draws a process's role that is not r.
func other(rng *rand.Rand, r Role, points []Point) Role {
	rest := []Role{Host, Source, Sink}
	for _, p := range points {
		if p.Role.rawFirst() && !slices.Contains(rest, p.Role) {
			rest = append(rest, p.Role)
		}
	}
	for i, x := range rest {
		if x == r {
			rest = append(rest[:i], rest[i+1:]...)
			break
		}
	}
	return rest[rng.IntN(len(rest))]
}

// Hash names a schedule: two runs with one hash kill at the same moments.
func Hash(kills []Kill) string {
	h := sha256.New()
	_ = Print(h, kills)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Print writes a schedule, a line a kill.
func Print(w io.Writer, kills []Kill) error {
	var b strings.Builder
	for _, k := range kills {
		fmt.Fprintln(&b, k)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
