package plugins

import (
	"context"
	"crypto/tls"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// corkedTLS is TLS over a connection that sends several of its records at
// once. TLS writes each record of 16 KiB by itself, and each write wakes the
// plugin: a frame of 1 MiB would cost 64 of them. The configuration is asked
// for at the handshake, because go-plugin makes it when the plugin starts.
type corkedTLS struct {
	credentials.TransportCredentials // answers what does not depend on config
	config                           func() *tls.Config
}

func newCorkedTLS(config func() *tls.Config) credentials.TransportCredentials {
	return corkedTLS{credentials.NewTLS(&tls.Config{}), config}
}

func (c corkedTLS) ClientHandshake(ctx context.Context, _ string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, corked := c.config(), &corkedConn{Conn: raw}
	conn, info, err := credentials.NewTLS(config).ClientHandshake(ctx, config.ServerName, corked)
	if err != nil {
		return nil, nil, err
	}
	return &corkingConn{conn, corked}, info, nil
}

func (c corkedTLS) Clone() credentials.TransportCredentials { return c }

// corkingConn is the TLS connection: one Write of it is one of the other's.
type corkingConn struct {
	net.Conn
	under *corkedConn
}

func (c *corkingConn) Write(p []byte) (int, error) {
	c.under.cork()
	n, err := c.Conn.Write(p)
	if e := c.under.uncork(); err == nil && e != nil {
		return 0, e
	}
	return n, err
}

// corkedConn keeps what is written while it is corked.
type corkedConn struct {
	net.Conn
	mu     sync.Mutex
	corked bool
	kept   []byte
}

func (c *corkedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.corked {
		return c.Conn.Write(p)
	}
	c.kept = append(c.kept, p...)
	return len(p), nil
}

func (c *corkedConn) cork() {
	c.mu.Lock()
	c.corked = true
	c.mu.Unlock()
}

func (c *corkedConn) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.Conn.Write(c.kept)
	c.corked, c.kept = false, c.kept[:0]
	return err
}
