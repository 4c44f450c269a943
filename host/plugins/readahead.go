package plugins

import "github.com/twg-io/twg/internal/wire"

// ReadAhead bounds what a process sends ahead of n readers of its rows (Replay),
// in bytes: nothing but the transport holds that back.
func ReadAhead(n int) int64 { return wire.ReadAhead(n) }
