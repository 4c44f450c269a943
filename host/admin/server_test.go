package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

const token = "0123456789abcdef-token"

func testHost() view.Host {
	now := time.Now()
	return view.Host{At: now, Started: now, Pipelines: []view.Pipeline{{Name: "p", Role: view.RoleIngest, Answered: now,
		Streams: []view.Stream{{Topic: "t"}}, Sink: view.Sink{Name: "s", Open: true}, Flow: &view.Flow{Stuck: "none"}}}}
}

func serve(t *testing.T, cfg Config) *Server {
	t.Helper()
	if cfg.Host == nil {
		cfg.Host = testHost
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		s.Close(ctx)
	})
	return s
}

func get(t *testing.T, c *http.Client, url string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func overTCP() Config { return Config{Network: "tcp", Address: "127.0.0.1:0"} }

func TestAnswers(t *testing.T) {
	h := testHost()
	s := serve(t, Config{Network: "tcp", Address: "127.0.0.1:0", Limits: health.Limits{UnreachableAfter: time.Second, MaxCommitAge: time.Second},
		Host: func() view.Host { return h }})
	base := "http://" + s.Addr()
	for _, path := range []string{"/live", "/ready", "/status", "/"} {
		if code, body := get(t, http.DefaultClient, base+path, nil); code != 200 || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	h.Pipelines[0].Streams = nil
	if code, body := get(t, http.DefaultClient, base+"/ready", nil); code != 503 || !strings.Contains(body, `"reason": "no_assignment"`) {
		t.Errorf("/ready: %d %s", code, body)
	}
	h.Pipelines[0].Flow.Stuck = "unhealthy"
	if code, body := get(t, http.DefaultClient, base+"/live", nil); code != 503 || !strings.Contains(body, `"reason": "stuck"`) {
		t.Errorf("/live: %d %s", code, body)
	}
	if code, _ := get(t, http.DefaultClient, base+"/nothing", nil); code != 404 {
		t.Errorf("/nothing: %d", code)
	}
	r, err := http.Post(base+"/ready", "text/plain", strings.NewReader("x"))
	if err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v %v", r, err)
	}
	if r != nil {
		r.Body.Close()
	}
}

func TestToken(t *testing.T) {
	s := serve(t, Config{Network: "tcp", Address: "127.0.0.1:0", Token: token})
	for given, want := range map[string]int{
		"": 401, "Bearer ": 401, "Bearer " + token[1:]: 401, "Bearer " + token + "x": 401, "Basic " + token: 401, token: 401, "Bearer " + token: 200,
	} {
		for _, path := range []string{"/live", "/ready", "/status", "/metrics", "/nothing"} {
			code, body := get(t, http.DefaultClient, "http://"+s.Addr()+path, func(r *http.Request) { r.Header.Set("Authorization", given) })
			if want == 401 && code != want || want == 200 && code == 401 {
				t.Errorf("%q %s: %d, want %d", given, path, code, want)
			}
			if strings.Contains(body, token) {
				t.Errorf("%s shows the token: %s", path, body)
			}
		}
	}
}

// A name that was made to stand for 127.0.0.1 is not answered.
func TestOnlyLocalNames(t *testing.T) {
	s := serve(t, overTCP())
	for host, want := range map[string]int{"evil.example": 403, "evil.example:80": 403, "localhost": 200, "localhost:9": 200, "[::1]:9": 200, "127.0.0.1": 200} {
		if code, _ := get(t, http.DefaultClient, "http://"+s.Addr()+"/live", func(r *http.Request) { r.Host = host }); code != want {
			t.Errorf("%s: %d, want %d", host, code, want)
		}
	}
}

func TestRefusesOpenAddress(t *testing.T) {
	cfg := Config{Network: "tcp", Address: "0.0.0.0:0", Logger: slog.New(slog.DiscardHandler), Host: testHost}
	if s, err := Listen(t.Context(), cfg); err == nil {
		s.Close(t.Context())
		t.Error("it listens where everybody can reach it")
	}
	cfg.Token = token
	s, err := Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Close(t.Context())
}

func TestPortInUse(t *testing.T) {
	s := serve(t, overTCP())
	_, err := Listen(t.Context(), Config{Network: "tcp", Address: s.Addr(), Logger: slog.New(slog.DiscardHandler), Host: testHost})
	if err == nil || !strings.Contains(err.Error(), "name another port") {
		t.Errorf("%v", err)
	}
}

func socketClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

func TestSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	s := serve(t, Config{Network: "unix", Address: path})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	if code, _ := get(t, socketClient(path), "http://twg/live", nil); code != 200 {
		t.Errorf("%d", code)
	}
	cfg := Config{Network: "unix", Address: path, Logger: slog.New(slog.DiscardHandler), Host: testHost}
	if _, err := Listen(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second one: %v", err)
	}
	s.Close(t.Context())
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a process left that was killed is replaced; a file is not.
func TestSocketLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	serve(t, Config{Network: "unix", Address: path})
	if code, _ := get(t, socketClient(path), "http://twg/live", nil); code != 200 {
		t.Errorf("%d", code)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), Config{Network: "unix", Address: file, Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a file was replaced")
	}
}

// Whoever takes all connections and says nothing is dropped, and others are
// answered again.
func TestBounds(t *testing.T) {
	s := serve(t, overTCP())
	if s.http.ReadHeaderTimeout <= 0 || s.http.ReadTimeout <= 0 || s.http.WriteTimeout <= 0 || s.http.IdleTimeout <= 0 {
		t.Errorf("a timeout is missing: %+v", s.http)
	}
	var held []net.Conn
	for range maxConns {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	// The one too many is closed without an answer.
	one, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	one.SetDeadline(time.Now().Add(4 * time.Second))
	fmt.Fprint(one, "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if n, _ := one.Read(make([]byte, 1)); n > 0 {
		t.Error("more connections are served than there may be")
	}
	for _, c := range held {
		c.Close()
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		resp, err := client.Get("http://" + s.Addr() + "/live")
		if err == nil {
			resp.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody is answered any more: %v", err)
		}
	}
}

func TestLargeHeaderIsRefused(t *testing.T) {
	s := serve(t, overTCP())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X", strings.Repeat("x", 4*maxHeader))
	resp, err := http.DefaultClient.Do(r) // which may still be writing when it is hung up on
	if err != nil {
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
}
