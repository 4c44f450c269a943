package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// openSocket makes a unix socket that only its owner may use. It is made in a
// directory of its own and moved when its mode is right: there is no moment at
// which somebody else could connect.
func openSocket(ctx context.Context, path string) (net.Listener, func(), error) {
	if err := checkPlace(ctx, path); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".twg")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	hidden := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", hidden)
	if err != nil {
		return nil, nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	err = os.Chmod(hidden, 0o600)
	if err == nil {
		err = os.Rename(hidden, path)
	}
	made, serr := os.Lstat(path)
	if err = errors.Join(err, serr); err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, func() { removeSame(path, made) }, nil
}

// removeSame removes a socket unless another process has put its own there.
func removeSame(path string, made os.FileInfo) {
	if now, err := os.Lstat(path); err == nil && os.SameFile(now, made) {
		os.Remove(path)
	}
}

// checkPlace: what a process left that is gone may be replaced, nothing else.
func checkPlace(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s is there and is no socket; name another path, or remove it", path)
	}
	d := net.Dialer{Timeout: time.Second}
	if c, err := d.DialContext(ctx, "unix", path); err == nil {
		c.Close()
		return errors.New("another process listens there; name another path, or end it")
	}
	return nil
}
