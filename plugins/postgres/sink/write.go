package sink

import (
	"context"
	"errors"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/postgres/pgstore"
	"github.com/twg-io/twg/plugins/postgres/verdict"
	"github.com/twg-io/twg/sdk"
)

const (
	// tries bound how often a transaction is begun anew before its spans go
	// back to the host.
	tries = 6
	// stageAfter is how many transactions go through the temporary table after
	// one that met rows which were there.
	stageAfter = 8
)

// write writes jobs in one transaction, and answers them. An error ends the
// session: what became of the transaction is then found out by the next one,
// which ends this one's backends and reads the coverage.
func (l *lane) write(ctx context.Context, jobs []*job) error {
	staged := l.staged > 0
	for try := 1; ; try++ {
		var err error
		if jobs, err = l.claim(ctx, jobs); err != nil || len(jobs) == 0 {
			return err
		}
		t, lost := l.build(jobs)
		if len(lost) > 0 {
			if jobs = l.answerFenced(jobs, lost); len(jobs) == 0 {
				return nil
			}
			continue
		}
		if err = l.attempt(ctx, t, staged); err == nil {
			l.committed(t, staged)
			return nil
		}
		again, err := l.judge(ctx, t, err)
		if err != nil {
			return err
		}
		if try == tries || !again.worth {
			l.answer(t, sdk.Retryable, again.reason)
			return nil
		}
		staged = staged || again.staged
		pause(ctx, try)
	}
}

// attempt is one transaction. With an error it is still open.
func (l *lane) attempt(ctx context.Context, t *tx, staged bool) error {
	faultpoint.Hit("write")
	switch {
	case len(t.rows) == 0:
		if err := l.out.Begin(ctx); err != nil {
			return err
		}
	case staged:
		refused, err := l.out.Stage(ctx, t.rows)
		if err != nil {
			return err
		}
		for _, r := range refused {
			t.refuse(l.states, r)
		}
	default:
		if err := l.out.Copy(ctx, t.rows); err != nil {
			return err
		}
	}
	if answersEarly {
		l.answer(t, sdk.Durable, "")
	}
	faultpoint.Hit("copied")
	return l.db.store.Commit(ctx, l.db.conn, t.list())
}

// committed notes what is held and answers.
func (l *lane) committed(t *tx, staged bool) {
	faultpoint.Hit("committed")
	for _, c := range t.changes {
		c.Apply()
	}
	if staged && l.staged > 0 {
		l.staged--
	}
	if !answersEarly {
		l.answer(t, sdk.Durable, "")
	}
}

// again is how a transaction that failed is begun anew.
type again struct {
	worth  bool
	staged bool
	reason string
}

// judge rolls back and says what is next. An error ends the session.
func (l *lane) judge(ctx context.Context, t *tx, err error) (again, error) {
	fenced, moved := errors.Is(err, pgstore.ErrFenced), errors.Is(err, pgstore.ErrMoved)
	v := verdict.Of(err)
	if v == verdict.Lost && !fenced && !moved || sdk.KindOf(err) == sdk.KindFatal {
		return again{}, err
	}
	if rerr := l.rollback(ctx); rerr != nil {
		return again{}, errors.Join(err, rerr)
	}
	for _, c := range t.changes {
		l.forget(c.State.Stream) // it is claimed again, and so read again
	}
	switch {
	case fenced || moved:
		return again{worth: true, reason: err.Error()}, nil
	case v == verdict.Exists:
		l.staged = stageAfter
		return again{worth: true, staged: true, reason: verdict.Reason(err)}, nil
	case v == verdict.Deadlock, v == verdict.Data:
		return again{worth: true, staged: true, reason: verdict.Reason(err)}, nil
	}
	return again{worth: true, reason: verdict.Reason(err)}, nil
}

func (l *lane) rollback(ctx context.Context) error {
	_, err := l.db.conn.PgConn().Exec(ctx, "rollback").ReadAll()
	return err
}

// pause lets whoever was in the way get on.
func pause(ctx context.Context, try int) {
	t := time.NewTimer(time.Duration(try*try) * 5 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
