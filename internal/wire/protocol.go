package wire

import (
	"errors"
	"fmt"

	"github.com/twg-io/twg/sdk"
)

// ErrProtocol is in the chain of every error that says that the other side
// broke the protocol. Nothing of the session may be believed after it.
var ErrProtocol = errors.New("protocol error")

// violation is a protocol error of the other side. It is retryable: a fresh
// process may do better, and what was not answered is sent again.
func violation(format string, args ...any) error {
	return &sdk.Error{Kind: sdk.KindRetryable, Scope: sdk.ScopeSession,
		Err: fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))}
}
