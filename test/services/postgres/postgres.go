// Package postgres starts a real PostgreSQL cluster for tests.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/services/daemon"
)

const (
	startWithin = 60 * time.Second
	stopWithin  = 30 * time.Second
	// Database is the one that is there from the beginning.
	Database = "twg"
	user     = "twg"
)

// Config says how the cluster is started. The zero value is good.
type Config struct {
	// Dir is where the data and the log lie. Empty: a temporary directory that
	// Close removes.
	Dir string
	// Settings are further lines of postgresql.conf, by name.
	Settings map[string]string
}

// Server is a cluster on a loopback port, with fsync and synchronous_commit
// on. User twg is its superuser, without a password. The methods are for one
// goroutine at a time.
type Server struct {
	dir  string
	own  bool // dir is removed by Close
	bin  string
	as   *syscall.Credential
	port int
	proc *daemon.Process
}

// Start makes a new cluster and waits until it takes connections. The caller
// calls Close.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{dir: cfg.Dir, own: cfg.Dir == ""}
	if err := s.prepare(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.createDatabase(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Start starts the cluster again, on its port and with its data, after Stop or
// Kill. It waits until connections are taken.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	cmd := s.command("postgres", "-D", s.data())
	// An orphan is to end at once, and its children with it.
	p, err := daemon.Start(cmd, "postgres", s.Log(), syscall.SIGQUIT)
	if err != nil {
		return err
	}
	s.proc = p
	if err := p.Ready(ctx, s.answers); err != nil {
		s.Kill()
		return err
	}
	return nil
}

// Stop ends the cluster in good order; open connections are cut.
func (s *Server) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	return s.proc.Stop(ctx, syscall.SIGINT)
}

// Restart stops and starts.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Close ends the cluster and removes a directory that Start made.
func (s *Server) Close() error {
	s.Kill()
	return s.remove()
}

// DSN names a database of the cluster; empty: Database.
func (s *Server) DSN(database string) string {
	if database == "" {
		database = Database
	}
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, s.Addr(), database)
}

// Addr is host and port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// PID is the postmaster's.
func (s *Server) PID() int { return s.proc.PID() }

// Log is the file with the server's messages.
func (s *Server) Log() string { return filepath.Join(s.dir, "postgres.log") }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) answers(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (s *Server) createDatabase(ctx context.Context) error {
	return s.exec(ctx, "create database "+Database)
}

// exec runs a statement beside the cluster's users.
func (s *Server) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("connect to postgres: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (s *Server) remove() error {
	if !s.own || s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}
