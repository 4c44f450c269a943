package sink

import (
	"context"
	"fmt"
	"slices"

	"github.com/twg-io/twg/plugins/postgres/pgdial"
	"github.com/twg-io/twg/plugins/postgres/pgstore"
	"github.com/twg-io/twg/plugins/postgres/rawtable"
	"github.com/twg-io/twg/sdk"
)

// lane is a connection, what waits for it, and what it knows of the streams
// that it writes. One goroutine, run, owns it but for the queue.
type lane struct {
	w     *writer
	cfg   *config
	db    *opened
	out   *rawtable.Writer
	queue *queue
	lim   limits

	states map[pgstore.Claim]*pgstore.State
	// staged transactions are still to go through the temporary table: where
	// rows were there already, the next ones will probably be as well.
	staged int
}

func newLane(w *writer, cfg *config, o *opened) *lane {
	l := &lane{w: w, cfg: cfg, db: o, out: o.table.NewWriter(o.conn), states: map[pgstore.Claim]*pgstore.State{}}
	l.lim = limits{rows: cfg.set.MaxTxRows, bytes: int64(cfg.set.MaxTxBytes), linger: cfg.set.Linger}
	if w.ses.Granularity == sdk.GranularityRecord {
		l.lim.linger = 0
	}
	l.queue = newQueue(l.lim.bytes)
	return l
}

func (l *lane) discard() { pgdial.Discard(l.db.conn) }

// run writes what comes until the queue is closed, ctx ends or something fails.
func (l *lane) run(ctx context.Context) {
	defer l.queue.close()
	defer l.discard()
	for {
		jobs := l.queue.pop(ctx, l.lim)
		if len(jobs) == 0 {
			return
		}
		if err := l.write(ctx, jobs); err != nil {
			l.w.fail(fmt.Errorf("write to %s at %s: %w", l.db.table.Name(), l.cfg.dial.Target(), err))
			return
		}
	}
}

// claim makes sure that every span's stream is claimed under its epoch, and
// answers the jobs that have a stale one. Claiming a stream under a new epoch
// makes one under an older epoch unknown again, hence the loop.
func (l *lane) claim(ctx context.Context, jobs []*job) ([]*job, error) {
	for {
		claims := l.unclaimed(jobs)
		if len(claims) == 0 {
			return jobs, nil
		}
		states, fenced, err := l.db.store.Claim(ctx, l.db.conn, l.w.token, claims)
		if err != nil {
			return nil, err
		}
		for c, s := range states {
			l.forget(c.Stream)
			l.states[c] = s
		}
		jobs = l.answerFenced(jobs, fenced)
	}
}

// unclaimed are the claims that are still to be made. A span without an epoch
// needs none: this sink does not gate its stream.
func (l *lane) unclaimed(jobs []*job) []pgstore.Claim {
	var out []pgstore.Claim
	for _, j := range jobs {
		for _, p := range j.parts {
			c := p.claim()
			switch {
			case l.states[c] != nil || slices.Contains(out, c):
			case c.Epoch.IsZero():
				l.states[c] = &pgstore.State{Stream: c.Stream, RowsOnly: true}
			default:
				out = append(out, c)
			}
		}
	}
	return out
}

func (p *part) claim() pgstore.Claim {
	return pgstore.Claim{Stream: p.span.Stream, Epoch: p.span.Epoch}
}

// forget drops what is known of a stream.
func (l *lane) forget(s sdk.Stream) {
	for c := range l.states {
		if c.Stream == s {
			delete(l.states, c)
		}
	}
}
