package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
)

// free is the window that a claim takes: the oldest one that is open or whose
// lease has expired, past those that others are just taking. One that the
// caller has watched expire is taken even if the server's clock, which may have
// been set back, says otherwise: the fence keeps that right.
const (
	free    = "(w.state = 'open' or w.state = 'claimed' and w.lease_until <= now())"
	watched = "w.state in ('open', 'claimed') and w.id = $5 and w.lease_version = $6"
)

// ClaimWindow leases a window; nil: none is free.
func (st *Store) ClaimWindow(ctx context.Context, conn *pgx.Conn, c sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	which, args := free, []any{st.target, c.Lane, c.Holder, c.TTL.Microseconds()}
	if c.ID != 0 {
		which, args = watched, append(args, int64(c.ID), int64(c.LeaseVersion))
	}
	var out *sdk.RecoveryWindow
	err := inTx(ctx, conn, func(tx pgx.Tx) error {
		if c.TTL <= 0 {
			return sdk.Errorf(sdk.KindRejected, "", "a lease of %v", c.TTL)
		}
		rows, err := tx.Query(ctx, st.t.expand(`with free as materialized (select w.id from {windows} w where w.target = $1 and w.lane = $2 and `+which+` order by w.id limit 1 for update skip locked),
			w as (update {windows} u set state = 'claimed', holder = $3, fence = u.fence + 1, lease_version = u.lease_version + 1, lease_until = now() + $4::bigint * interval '1 microsecond'
				from free where u.id = free.id returning u.*)
			select `+windowColumns+` from w join {streams} s on s.id = w.stream`), args...)
		if err != nil {
			return err
		}
		w, err := pgx.CollectExactlyOneRow(rows, scanWindow)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		out = &w.RecoveryWindow
		faultpoint.Hit("claim")
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim a window of lane %s: %w", c.Lane, err)
	}
	if out != nil {
		faultpoint.Hit("claim") // a second time: nobody knows of the lease
	}
	return out, nil
}

// RenewWindow gives a lease its full time again. One that has expired is
// renewed, too, as long as nobody else has claimed the window.
func (st *Store) RenewWindow(ctx context.Context, conn *pgx.Conn, id, fence uint64, ttl time.Duration) (version uint64, err error) {
	var v int64
	err = conn.QueryRow(ctx, "update "+st.t.windows+" set lease_version = lease_version + 1, lease_until = now() + $4::bigint * interval '1 microsecond' where id = $1 and target = $2 and "+fenced+" and state = 'claimed' returning lease_version",
		int64(id), st.target, int64(fence), ttl.Microseconds()).Scan(&v)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errLease(id, fence)
	}
	if err != nil {
		return 0, fmt.Errorf("renew the lease of window %d: %w", id, err)
	}
	return uint64(v), nil
}

func errLease(id, fence uint64) error {
	return sdk.Errorf(sdk.KindFenced, "", "claim %d of window %d is not the current one: the lease expired and another has it, or the window is complete", fence, id)
}
