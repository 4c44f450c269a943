package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals turns the first SIGINT or SIGTERM into the end of a context, which
// means a graceful stop, and the second into the end of the process.
type signals struct {
	ch     chan os.Signal
	done   chan struct{}
	wg     sync.WaitGroup
	cancel context.CancelFunc
}

func watchSignals(parent context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancel(parent)
	s := &signals{ch: make(chan os.Signal, 2), done: make(chan struct{}), cancel: cancel}
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM)
	s.wg.Go(s.watch)
	return ctx, s
}

func (s *signals) watch() {
	for n := 0; ; n++ {
		select {
		case <-s.done:
			return
		case sig := <-s.ch:
			if n > 0 {
				killAll()
				os.Exit(128 + int(sig.(syscall.Signal)))
			}
			s.cancel()
		}
	}
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.done)
	s.wg.Wait()
	s.cancel()
}

// kills are what must not outlive the process when it ends at once.
var kills struct {
	mu    sync.Mutex
	funcs []func()
}

// onKill has f called when a second signal ends the process.
func onKill(f func()) {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	kills.funcs = append(kills.funcs, f)
}

func killAll() {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	for _, f := range kills.funcs {
		f()
	}
}
