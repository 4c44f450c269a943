package lanes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/twg-io/twg/sdk"
)

// lockName is the lock of the directory's recovery host.
const lockName = "recovery.lock"

// note is what a recovery host leaves in its lock.
type note struct {
	PID    int    `json:"pid"`
	Host   string `json:"host"`
	Holder string `json:"holder"`
}

func (n note) String() string {
	if n.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on host %q (%q)", n.PID, n.Host, n.Holder)
}

// beRecoveryHost makes this process the directory's recovery host, if none
// is. The lock ends with the process.
func (s *Store) beRecoveryHost(ctx context.Context, op, holder string) error {
	return s.with(ctx, op, func() error {
		if s.lock != nil {
			return nil
		}
		n := note{PID: os.Getpid(), Holder: holder}
		n.Host, _ = os.Hostname()
		text, err := json.Marshal(n)
		if err != nil {
			return err
		}
		lock, other, err := s.dir.Lock(lockName, text)
		if err != nil {
			return err
		}
		if lock == nil {
			var has note
			json.Unmarshal(other, &has) // it may be empty still
			return sdk.Errorf(sdk.KindRetryable, "", "%s is the recovery host of %s, and a Parquet directory has one: stop that one, or leave the work to it; this one can go on when it has ended",
				has, s.dir.Path())
		}
		s.lock = lock
		return nil
	})
}
