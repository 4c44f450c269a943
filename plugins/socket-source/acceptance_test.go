package main_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/plugintest"
)

var invalid = []string{
	`{}`,
	`{"cluster":"c","stream":"a b","listen":"127.0.0.1:9400"}`,
	`{"cluster":"c","stream":"s","listen":"127.0.0.1"}`,
	`{"cluster":"c","stream":"s","listen":"0.0.0.0:9400"}`,
	`{"cluster":"c","stream":"s","listen":"unix:"}`,
	`{"cluster":"c","stream":"s","listen":"127.0.0.1:9400","framing":"xml"}`,
	`{"cluster":"c","stream":"s","listen":"127.0.0.1:9400","tls":{"cert":"x","key":"secret-key"}}`,
}

// TestAcceptanceOfResume runs the program against the suite with a peer that
// keeps what it has sent, over TCP, with lengths.
func TestAcceptanceOfResume(t *testing.T) {
	plugintest.Source(t, plugintest.SourceConfig{
		Binary: build(t), Invalid: invalid,
		Carries: func(r frame.Record) frame.Record {
			return frame.Record{Position: r.Position, Value: append([]byte{}, r.Value...)}
		},
		Service: func(t testing.TB) plugintest.Service {
			address := freeAddress(t)
			p := startPeer(t, "tcp", address, true)
			return plugintest.Service{
				Settings:    fmt.Sprintf(`{"cluster":"c","stream":"s","listen":%q,"resume":true,"framing":"length","max_frame_bytes":"8MiB"}`, address),
				Unreachable: `{"cluster":"c","stream":"s","listen":"192.0.2.1:9400","allow_remote":true,"resume":true}`,
				Produce: func(_ sdk.Stream, recs ...frame.Record) error {
					for _, r := range recs {
						p.add(append(binary.BigEndian.AppendUint32(nil, uint32(len(r.Value))), r.Value...))
					}
					return nil
				},
			}
		},
	})
}

// TestAcceptanceOfArrival: without resume, over a unix socket, with lines.
func TestAcceptanceOfArrival(t *testing.T) {
	plugintest.Source(t, plugintest.SourceConfig{
		Binary: build(t), Invalid: invalid,
		Carries: func(r frame.Record) frame.Record {
			value := bytes.ReplaceAll(r.Value, []byte("\n"), []byte("~"))
			return frame.Record{Position: r.Position, Value: append([]byte{}, value...)}
		},
		Service: func(t testing.TB) plugintest.Service {
			path := filepath.Join(t.TempDir(), "s")
			p := startPeer(t, "unix", path, false)
			return plugintest.Service{
				Settings: fmt.Sprintf(`{"cluster":"c","stream":"s","listen":"unix:%s","max_frame_bytes":"8MiB"}`, path),
				Produce: func(_ sdk.Stream, recs ...frame.Record) error {
					for _, r := range recs {
						p.add(append(append([]byte{}, r.Value...), '\n'))
					}
					return nil
				},
			}
		},
	})
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "twg-plugin-socket-source")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// peer connects again and again and sends records. With resume it sends those
// that it is asked for, else each once.
type peer struct {
	network, address string
	resume           bool

	mu      sync.Mutex
	records [][]byte
	changed chan struct{}
	stop    chan struct{}
}

func startPeer(t testing.TB, network, address string, resume bool) *peer {
	p := &peer{network: network, address: address, resume: resume, changed: make(chan struct{}), stop: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(p.run)
	t.Cleanup(func() { close(p.stop); wg.Wait() })
	return p
}

func (p *peer) add(record []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = append(p.records, record)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *peer) run() {
	for at := 0; ; {
		c, err := net.Dial(p.network, p.address)
		if err == nil {
			at = p.speak(c, at)
			c.Close()
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-p.stop:
			return
		}
	}
}

// speak sends records from number at on, and returns how far it has come.
func (p *peer) speak(c net.Conn, at int) int {
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-p.stop:
			c.Close()
		case <-over:
		}
	}()
	in := bufio.NewReader(c)
	if p.resume {
		line, err := in.ReadString('\n')
		var next int
		if _, scan := fmt.Sscanf(line, "RESUME s %d\n", &next); err != nil || scan != nil {
			return at
		}
		p.mu.Lock()
		at = min(next, len(p.records))
		p.mu.Unlock()
		fmt.Fprintf(c, "OK %d\n", at)
	}
	go func() { // the other side says nothing but that it is gone
		in.ReadByte()
		c.Close()
	}()
	for {
		p.mu.Lock()
		var next []byte
		if at < len(p.records) {
			next = p.records[at]
		}
		changed := p.changed
		p.mu.Unlock()
		if next == nil {
			select {
			case <-changed:
				continue
			case <-time.After(20 * time.Millisecond):
				if _, err := c.Write(nil); err != nil { // it was closed
					return at
				}
				continue
			case <-p.stop:
				return at
			}
		}
		if _, err := c.Write(next); err != nil {
			return at
		}
		at++
	}
}
