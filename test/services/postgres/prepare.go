package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/twg-io/twg/test/services/daemon"
)

// prepare finds the programs, and makes the directory and an empty cluster.
func (s *Server) prepare(ctx context.Context, cfg Config) error {
	var err error
	if s.bin, err = programs(); err != nil {
		return err
	}
	if s.as, err = notRoot(); err != nil {
		return err
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	if s.port, err = daemon.FreePort(); err != nil {
		return err
	}
	// A cluster that is thrown away: initdb's own sync would only cost time.
	cmd := s.command("initdb", "-D", s.data(), "-U", user, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb %s: %w\n%s", s.data(), err, out)
	}
	if err := s.writeSettings(cfg.Settings); err != nil {
		return err
	}
	return ctx.Err()
}

// programs returns the directory of the newest version's programs.
func programs() (string, error) {
	if dir := os.Getenv("TWG_POSTGRES_BIN"); dir != "" {
		return dir, nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errors.New("start postgres: initdb is not there; apt-get install postgresql, or name its directory in TWG_POSTGRES_BIN")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// notRoot is the user that the server runs as, which must not be root; nil:
// ours.
func notRoot() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("start postgres: it refuses to run as root, and there is neither a user postgres nor nobody")
}

// makeDir makes the directory and gives it to the server's user.
func (s *Server) makeDir() error {
	var err error
	if s.own {
		s.dir, err = os.MkdirTemp("", "twg-postgres-")
	} else {
		err = os.MkdirAll(s.dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	if s.as == nil {
		return nil
	}
	return os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid))
}

// command is one of the server's programs, run as its user.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// writeSettings appends to postgresql.conf. What makes a commit durable stays
// at its default, which is on; it stands here so that nobody has to look.
func (s *Server) writeSettings(more map[string]string) error {
	all := map[string]string{
		"listen_addresses":        "'127.0.0.1'",
		"port":                    strconv.Itoa(s.port),
		"unix_socket_directories": "''",
		"fsync":                   "on",
		"synchronous_commit":      "on",
		"full_page_writes":        "on",
		"max_connections":         "60",
		"shared_buffers":          "'128MB'",
		"max_wal_size":            "'1GB'",
	}
	maps.Copy(all, more)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s = %s\n", name, all[name])
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("configure postgres: %w", err)
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}
