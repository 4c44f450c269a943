// Package admin serves what a host tells about itself: whether it lives and is
// ready, its metrics, and where its pipelines stand.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

// Config is what a server is made of.
type Config struct {
	// Network is tcp or unix. A unix socket is for its owner alone; on tcp any
	// address but a loopback one needs a Token.
	Network, Address string
	// Token is what every request must bring; empty: none is asked for.
	Token  string
	Limits health.Limits
	// Host returns what is known. It must be quick, and may be called from any
	// goroutine.
	Host   func() view.Host
	Logger *slog.Logger
}

// Bounds of what one client may take. An answer is small; whoever is slow, or
// one of very many, is turned away.
const (
	maxConns     = 64
	maxHeader    = 8 << 10
	readTimeout  = 5 * time.Second
	writeTimeout = 10 * time.Second
	idleTimeout  = time.Minute
)

// Server answers until Close. Its methods may be called from any goroutine.
type Server struct {
	cfg    Config
	listen net.Listener
	http   *http.Server
	remove func() // the socket's file
	wg     sync.WaitGroup
}

// Listen begins to answer.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	l, remove, err := open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", Name(cfg.Network, cfg.Address), err)
	}
	s := &Server{cfg: cfg, listen: newBounded(l, maxConns), remove: remove}
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	s.wg.Go(func() {
		if err := s.http.Serve(s.listen); !errors.Is(err, http.ErrServerClosed) {
			cfg.Logger.Error("the admin endpoint does not answer any more", "error", err)
		}
	})
	return s, nil
}

// Name is an address as twg top and the log write it: HOST:PORT or unix:PATH.
func Name(network, address string) string {
	if network == "unix" {
		return "unix:" + address
	}
	return address
}

// Addr is where the server listens; with port 0 in the configuration, the port
// that it got.
func (s *Server) Addr() string {
	if s.cfg.Network == "unix" {
		return Name("unix", s.cfg.Address)
	}
	return s.listen.Addr().String()
}

// Close ends the server. What is being answered is until ctx ends.
func (s *Server) Close(ctx context.Context) {
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
	}
	s.wg.Wait()
	s.remove()
}

func open(ctx context.Context, cfg Config) (net.Listener, func(), error) {
	if cfg.Network == "unix" {
		return openSocket(ctx, cfg.Address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; another process listens there: name another port, or end it", err)
	}
	if err != nil {
		return nil, nil, err
	}
	// A name is checked for what it stands for now.
	if a, ok := l.Addr().(*net.TCPAddr); cfg.Token == "" && (!ok || !a.IP.IsLoopback()) {
		l.Close()
		return nil, nil, errors.New("other machines can reach it; set a token, or listen on 127.0.0.1 or on a unix socket")
	}
	return l, func() {}, nil
}

// bounded is a listener with at most so many connections at a time: the next
// one is closed at once, so that who waits learns it.
type bounded struct {
	net.Listener
	slots chan struct{}
}

func newBounded(l net.Listener, n int) *bounded { return &bounded{l, make(chan struct{}, n)} }

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.slots <- struct{}{}:
			return &boundedConn{Conn: c, free: sync.OnceFunc(func() { <-b.slots })}, nil
		default:
			c.Close()
		}
	}
}

type boundedConn struct {
	net.Conn
	free func()
}

func (c *boundedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
