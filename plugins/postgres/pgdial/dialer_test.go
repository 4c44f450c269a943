package pgdial

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

func TestWhatASessionRestsOnIsSet(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://h/d":                                 "on",
		"postgres://h/d?synchronous_commit=off":          "on",
		"host=h dbname=d synchronous_commit=local":       "on",
		"postgres://h/d?synchronous_commit=remote_apply": "remote_apply",
	} {
		d, err := New(dsn, Options{StatementTimeout: 1500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		p := d.cfg.RuntimeParams
		if p["synchronous_commit"] != want || p["statement_timeout"] != "1500" || p["application_name"] != "twg" {
			t.Errorf("%s: %v", dsn, p)
		}
		if d.Target() != "h:5432/d" {
			t.Errorf("%s: target %s", dsn, d.Target())
		}
	}
}

func TestAnErrorDoesNotRepeatTheDSN(t *testing.T) {
	for _, dsn := range []string{"postgres://u:sesame@h:port/d", "host=h password='sesame port=x", "sesame", "postgres://u:sesame@[/d"} {
		if _, err := New(dsn, Options{}); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%v", err)
		}
	}
}

// Attempts go on until the patience is at its end, or the caller's.
func TestConnectIsPatient(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	attempts := make(chan struct{}, 100)
	go func() { // ends with ln
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			attempts <- struct{}{}
			c.Close()
		}
	}()
	defer ln.Close()
	d, err := New("postgres://u:sesame@"+ln.Addr().String()+"/d?sslmode=disable", Options{ConnectTimeout: time.Second, MaxBackoff: 50 * time.Millisecond, Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Connect(t.Context())
	if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "connect to 127.0.0.1:") {
		t.Errorf("%v", err)
	}
	if n := len(attempts); n < 3 || n > 10 {
		t.Errorf("%d attempts in 300 ms, 50 ms apart", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Connect(ctx); err == nil {
		t.Error("connected although the context had ended")
	}
}

// A bound ends an attempt that nobody answers, whatever the settings allow.
func TestConnectWithinABound(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d, err := New("postgres://u@"+ln.Addr().String()+"/d?sslmode=disable", Options{ConnectTimeout: time.Hour, MaxBackoff: time.Hour, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Within(200 * time.Millisecond).Connect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it was not reached within 200ms") {
		t.Errorf("%v, want the bound", err)
	}
}
