package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// CompleteWindow ends a lease: what was done leaves the window, what cannot be
// recovered becomes windows of that state, and the rest is open again.
func (st *Store) CompleteWindow(ctx context.Context, conn *pgx.Conn, c sdk.WindowCompletion) error {
	err := inTx(ctx, conn, func(tx pgx.Tx) error {
		w, err := st.leased(ctx, tx, c)
		if err != nil {
			return err
		}
		if err := st.checkDone(ctx, tx, w, c); err != nil {
			return err
		}
		open, lost := remains(w.Window, c)
		if err := st.replace(ctx, tx, w, open, lost); err != nil {
			return err
		}
		faultpoint.Hit("complete")
		return nil
	})
	if err != nil {
		return fmt.Errorf("complete window %d: %w", c.ID, err)
	}
	faultpoint.Hit("complete") // a second time: it is, and nobody was told
	return nil
}

// leased locks the window of a completion whose fence is the current one.
func (st *Store) leased(ctx context.Context, tx pgx.Tx, c sdk.WindowCompletion) (window, error) {
	rows, err := tx.Query(ctx, "select "+windowColumns+st.t.expand(" from {windows} w join {streams} s on s.id = w.stream where w.id = $1 and w.target = $2 and "+fenced+" and w.state = 'claimed' for update of w"),
		int64(c.ID), st.target, int64(c.Fence))
	if err != nil {
		return window{}, err
	}
	w, err := pgx.CollectExactlyOneRow(rows, scanWindow)
	if errors.Is(err, pgx.ErrNoRows) {
		return window{}, errLease(c.ID, c.Fence)
	}
	return w, err
}

// checkDone refuses a completion that would forget positions which raw holds
// and the lane does not.
func (st *Store) checkDone(ctx context.Context, q querier, w window, c sdk.WindowCompletion) error {
	raw, err := st.lane(ctx, q, sdk.LaneRaw, []sdk.Stream{w.Stream})
	if err != nil || raw[w.Stream] == nil {
		return err
	}
	lane, err := st.lane(ctx, q, w.Lane, []sdk.Stream{w.Stream})
	if err != nil {
		return err
	}
	var there coverage.Set
	if l := lane[w.Stream]; l != nil {
		there.Merge(l.Set)
		for _, i := range l.SetAside {
			there.AddHeld(i)
		}
	}
	for _, d := range c.Done {
		for _, h := range raw[w.Stream].Set.HeldWithin(within(d, w.Window)) {
			if holes := there.Holes(h); len(holes) > 0 {
				return sdk.Errorf(sdk.KindRejected, "", "[%d,%d) of %s was said to be done and lane %s does not have it: record its coverage first", holes[0].From, holes[0].Next, w.Stream, w.Lane)
			}
		}
	}
	return nil
}

func within(i coverage.Interval, w sdk.Window) coverage.Interval {
	return coverage.Interval{From: max(i.From, w.From), Next: min(i.Next, w.Next)}
}

// remains are what a completion leaves of a window: what is lost, and the hull
// of the rest, or of each part of it between what is lost.
func remains(w sdk.Window, c sdk.WindowCompletion) (open, lost []coverage.Interval) {
	var gone, done coverage.Set
	for _, d := range c.Done {
		done.AddHeld(within(d, w))
	}
	for _, u := range c.Unrecoverable {
		for _, i := range done.Missing(within(u, w)) {
			gone.AddHeld(i)
		}
	}
	var left coverage.Set
	for _, i := range done.Missing(coverage.Interval{From: w.From, Next: w.Next}) {
		for _, l := range gone.Missing(i) {
			left.AddHeld(l)
		}
	}
	for _, i := range gone.Missing(coverage.Interval{From: w.From, Next: w.Next}) {
		if l := left.HeldWithin(i); len(l) > 0 {
			open = append(open, coverage.Interval{From: l[0].From, Next: l[len(l)-1].Next})
		}
	}
	return open, gone.Held()
}

// replace puts what remains of a window in its place. The first part that is
// open keeps the id and the count of claims.
func (st *Store) replace(ctx context.Context, tx pgx.Tx, w window, open, lost []coverage.Interval) error {
	b := &pgx.Batch{}
	if len(open) == 0 {
		b.Queue("delete from "+st.t.windows+" where id = $1", int64(w.ID))
	} else {
		b.Queue("update "+st.t.windows+" set state = 'open', holder = '', lease_until = 'epoch', lease_version = lease_version + 1, from_position = $2, next_position = $3 where id = $1",
			int64(w.ID), open[0].From, open[0].Next)
		open = open[1:]
	}
	insert := func(i coverage.Interval, state sdk.WindowState) {
		b.Queue("insert into "+st.t.windows+" (target, lane, stream, state, from_position, next_position, retry_set_aside) values ($1, $2, $3, $4, $5, $6, $7)",
			st.target, w.Lane, w.stream, states[state], i.From, i.Next, w.RetrySetAside)
	}
	for _, i := range open {
		insert(i, sdk.WindowOpen)
	}
	for _, i := range lost {
		insert(i, sdk.WindowUnrecoverable)
	}
	return tx.SendBatch(ctx, b).Close()
}
