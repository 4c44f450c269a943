package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/metrics"
)

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET /ready", s.ready)
	mux.HandleFunc("GET /status", s.status)
	mux.Handle("GET /metrics", metrics.Handler(s.cfg.Host, s.cfg.Limits))
	mux.HandleFunc("GET /{$}", index)
	if s.cfg.Token != "" {
		return withToken(s.cfg.Token, mux)
	}
	if s.cfg.Network != "unix" {
		return onlyLocal(mux)
	}
	return mux
}

func index(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{
		"/live":    "fails only for what only a new process mends",
		"/ready":   "fails with each reason why this host does not do its work now",
		"/metrics": "for Prometheus",
		"/status":  "where the pipelines stand, as JSON",
	})
}

func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	h := s.cfg.Host()
	verdict(w, health.Live(&h, time.Now()))
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	h := s.cfg.Host()
	verdict(w, health.Ready(&h, s.cfg.Limits, time.Now()))
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, s.cfg.Host())
}

func verdict(w http.ResponseWriter, v health.Verdict) {
	code := http.StatusOK
	if !v.OK {
		code = http.StatusServiceUnavailable
	}
	answer(w, code, v)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(body) // or the client is gone
}

// withToken lets only requests pass that bring the token. Digests are compared:
// the time that it takes tells neither the token nor its length.
func withToken(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answer(w, http.StatusUnauthorized, map[string]string{"error": "bring the token of the admin block: Authorization: Bearer TOKEN"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// onlyLocal refuses requests for other hosts' names: a web page whose name was
// made to stand for 127.0.0.1 could read the answers otherwise.
func onlyLocal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && ip == nil {
			answer(w, http.StatusForbidden, map[string]string{"error": "ask for localhost or for an address"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
