// Package tap stands between a broker and its clients: it passes on every byte,
// and shows requests of the kinds that are asked for before the broker gets
// them.
package tap

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Request is a request that a client has sent and the broker does not have yet.
type Request struct {
	// Conn tells connections apart, Peer is the client's end.
	Conn   uint64
	Peer   net.Addr
	Client string // the client id that it sends along
	Body   Body
}

// Tap listens at one address as long as it is open. Its methods may be called
// from any goroutine.
type Tap struct {
	keys map[int16]bool
	show func(Request)

	mu      sync.Mutex
	address string
	broker  string
	ln      net.Listener
	conns   map[net.Conn]struct{}
	count   uint64
	closed  bool
	wg      sync.WaitGroup
	err     error
}

// New opens a tap on a free port of the loopback. show is called with each
// request whose key is in keys; the client waits meanwhile. It is called from
// one goroutine for each connection.
func New(keys []int16, show func(Request)) (*Tap, error) {
	t := &Tap{address: "127.0.0.1:0", keys: map[int16]bool{}, show: show, conns: map[net.Conn]struct{}{}}
	for _, k := range keys {
		t.keys[k] = true
	}
	return t, t.Open()
}

// Addr is where clients connect to.
func (t *Tap) Addr() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.address
}

// To names the broker, which must tell its clients the tap's address as its
// own. Until then nobody is served.
func (t *Tap) To(broker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broker = broker
}

// Open listens again, at the same address.
func (t *Tap) Open() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ln, err := net.Listen("tcp", t.address)
	if err != nil {
		return fmt.Errorf("open tap: %w", err)
	}
	t.ln, t.address = ln, ln.Addr().String()
	t.wg.Go(func() { t.accept(ln) })
	return nil
}

// Shut refuses clients from now on, as a broker that is gone does. Connections
// that there are end when the broker ends them, or with Close.
func (t *Tap) Shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ln != nil {
		t.ln.Close()
		t.ln = nil
	}
}

// Close ends everything and waits for it.
func (t *Tap) Close() {
	t.Shut()
	t.mu.Lock()
	t.closed = true
	for c := range t.conns {
		c.Close()
	}
	t.mu.Unlock()
	t.wg.Wait()
}

// Err is the first request that could not be read. It was passed on.
func (t *Tap) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *Tap) accept(ln net.Listener) {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		t.wg.Go(func() { t.serve(client) })
	}
}

// serve passes on one connection until either end hangs up.
func (t *Tap) serve(client net.Conn) {
	defer client.Close()
	t.mu.Lock()
	address := t.broker
	t.mu.Unlock()
	broker, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer broker.Close()
	n := t.note(client, broker)
	defer t.forget(client, broker)
	t.wg.Go(func() {
		_, _ = io.Copy(client, broker)
		client.Close()
	})
	t.pass(n, client, broker)
}

// note keeps both ends for Close, and numbers the connection.
func (t *Tap) note(conns ...net.Conn) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range conns {
		t.conns[c] = struct{}{}
		if t.closed {
			c.Close()
		}
	}
	t.count++
	return t.count
}

func (t *Tap) forget(conns ...net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range conns {
		delete(t.conns, c)
	}
}

func (t *Tap) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}
