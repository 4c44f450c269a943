package daemon

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReadyTellsWhyAProcessEnded(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(exec.Command("sh", "-c", "echo no room; exit 3"), "sh", log, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	err = p.Ready(t.Context(), func(context.Context) error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error %v, want the exit status and the log's end", err)
	}
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(exec.Command("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"), "sh", log, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	up := func(context.Context) error {
		if !strings.Contains(Tail(log), "up") {
			return errors.New("not up")
		}
		return nil
	}
	if err := p.Ready(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx, syscall.SIGTERM); err == nil {
		t.Error("no error, want one: it ignores SIGTERM")
	}
	select {
	case <-p.Exited():
	default:
		t.Error("it still lives")
	}
}
