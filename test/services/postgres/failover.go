package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ReadOnly makes every new transaction read-only (SQLSTATE 25006), or writable
// again, while connections stay open: what is left of a pool after a
// fail-over. It returns when new connections see it; those that are open see
// it with their next transaction.
func (s *Server) ReadOnly(ctx context.Context, on bool) error {
	for _, statement := range []string{
		fmt.Sprintf("alter system set default_transaction_read_only = %t", on),
		"select pg_reload_conf()",
	} {
		if err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	return s.proc.Ready(ctx, func(ctx context.Context) error { return s.isReadOnly(ctx, on) })
}

func (s *Server) isReadOnly(ctx context.Context, want bool) error {
	err := s.exec(ctx, "create temporary table t (a int); select txid_current()")
	if want == (err != nil) {
		return nil
	}
	return fmt.Errorf("the setting is not there yet: %w", err)
}

// Demote stops the server and starts it as a hot standby of nobody: all its
// transactions are read-only (25006), as on the machine that a fail-over left
// behind. Promote ends that.
func (s *Server) Demote(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	signal := filepath.Join(s.data(), "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return fmt.Errorf("demote postgres: %w", err)
	}
	if s.as != nil {
		if err := os.Chown(signal, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return fmt.Errorf("demote postgres: %w", err)
		}
	}
	return s.Start(ctx)
}

// Promote makes a demoted server writable again; connections stay open.
func (s *Server) Promote(ctx context.Context) error { return s.exec(ctx, "select pg_promote()") }

// Backup is a copy of a cluster's data at one moment.
type Backup struct{ dir string }

// Backup copies the data of a server that is stopped.
func (s *Server) Backup(ctx context.Context) (Backup, error) {
	if err := s.mustBeStopped(); err != nil {
		return Backup{}, err
	}
	dir := filepath.Join(s.dir, "backup")
	return Backup{dir}, copyTree(ctx, s.data(), dir)
}

// Restore puts a backup in place of the data of a server that is stopped.
func (s *Server) Restore(ctx context.Context, b Backup) error {
	if err := s.mustBeStopped(); err != nil {
		return err
	}
	return copyTree(ctx, b.dir, s.data())
}

func (s *Server) mustBeStopped() error {
	select {
	case <-s.proc.Exited():
		return nil
	default:
		return errors.New("back up or restore postgres: stop it first")
	}
}

// copyTree replaces to by a copy of from, owners included.
func copyTree(ctx context.Context, from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}
