package schedule

// RawFirstPoints are the moments of a raw-first pipeline into PostgreSQL: those
// of the host that ingests and of its plugins, and those of the hosts that
// recover and of theirs.
func RawFirstPoints() []Point {
	return append(PostgresPoints(),
		Point{Host, "secondary-write", 8, ""},
		Point{Host, "secondary-receipt", 8, ""},
		Point{Host, "cover", 4, ""},
		Point{Secondary, "write", 6, ""},
		Point{Secondary, "copying", 6, ""},
		Point{Secondary, "copied", 6, ""},
		Point{Secondary, "committed", 6, ""},
		Point{Secondary, "receipt", 6, ""},
		Point{Recoverer, "plan", 3, ""},
		Point{Recoverer, "claim", 4, ""},
		Point{Recoverer, "replayed", 6, ""},
		Point{Recoverer, "recover-cover", 4, ""},
		Point{Recoverer, "complete", 4, ""},
		Point{Replayer, "plan", 2, ""},
		Point{Replayer, "claim", 4, ""},
		Point{Replayer, "replay", 6, ""},
		Point{Replayer, "complete", 4, ""},
		Point{Rebuilder, "write", 4, ""},
		Point{Rebuilder, "copied", 4, ""},
		Point{Rebuilder, "committed", 4, ""},
		Point{Rebuilder, "receipt", 4, ""},
	)
}

// rawFirst tells the roles that only a raw-first pipeline has.
func (r Role) rawFirst() bool { return r == Secondary || r.Recovers() }

// Recovers tells the processes of a host that recovers.
func (r Role) Recovers() bool { return r == Recoverer || r == Replayer || r == Rebuilder }
