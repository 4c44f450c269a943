package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/twg-io/twg/sdk"
)

// fakeRecoverer writes down what it is asked for and answers what the
// environment says.
type fakeRecoverer struct{ parts recoverParts }

func newFakeRecoverer(p recoverParts) recoverer { return fakeRecoverer{p} }

func (f fakeRecoverer) Recover(ctx context.Context, r recoverRequest, progress func(recoverResult)) (out recoverResult, err error) {
	p := f.parts
	text := fmt.Sprintf("lane %s, attempts %d, lease %s, from %d, to %d, retry %t, orphans %t, orders %t, bulk %t\n", p.lane, p.attempts, p.recovery.LeaseTTL,
		r.from, r.to, r.retryRejected, r.orphans, r.streams(sdk.Stream{Topic: "orders"}), r.streams(sdk.Stream{Topic: "bulk"}))
	if err := os.WriteFile("request", []byte(text), 0o644); err != nil {
		return out, err
	}
	if p.raw == nil || p.store == nil || p.sink == nil || p.log == nil {
		return out, errors.New("a part is missing")
	}
	progress(out)
	err = json.Unmarshal([]byte(os.Getenv("RECOVERED")), &out)
	if failure := os.Getenv("FAILURE"); failure != "" {
		err = errors.New(failure)
	}
	return out, err
}
