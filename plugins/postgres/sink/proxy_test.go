//go:build services

package sink

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// proxy stands between a sink and its server, and does harm at a message.
type proxy struct {
	server string
	ln     net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	// cutAt cuts the connection when the server's CommandComplete begins with
	// it, before the client sees that.
	cutAt string
	// freezeAfter stops the client's bytes, but not the connection, after this
	// many of them in one connection; 0: never.
	freezeAfter int
	cuts        int
	thaw        chan struct{}
}

func newProxy(t *testing.T, server string) *proxy {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: server, ln: ln, thaw: make(chan struct{})}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// dsn is a server's DSN by way of the proxy.
func (p *proxy) dsn(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		panic(err)
	}
	u.Host = p.ln.Addr().String()
	return u.String()
}

func (p *proxy) close() {
	p.ln.Close()
	close(p.thaw)
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.wg.Go(func() { p.toServer(client, server) })
		p.wg.Go(func() { p.toClient(client, server) })
	}
}

func (p *proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *proxy) toServer(client, server net.Conn) {
	defer server.Close()
	buf := make([]byte, 16<<10)
	for sent := 0; ; {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		frozen := p.freezeAfter > 0 && sent+n > p.freezeAfter
		p.mu.Unlock()
		if frozen {
			<-p.thaw
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		sent += n
	}
}

// toClient passes the server's messages on one by one.
func (p *proxy) toClient(client, server net.Conn) {
	defer client.Close()
	var head [5]byte
	for {
		if _, err := io.ReadFull(server, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		if head[0] == 'C' && p.cut(string(bytes.TrimRight(body, "\x00"))) {
			client.Close()
			server.Close()
			return
		}
		if _, err := client.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}

func (p *proxy) cut(tag string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cutAt == "" || !strings.HasPrefix(tag, p.cutAt) {
		return false
	}
	p.cutAt = ""
	p.cuts++
	return true
}
