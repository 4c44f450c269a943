package plugins

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// hostArgs are what the host that will be killed is to run.
type hostArgs struct {
	Source, Sink, SourceMark, SinkMark string
}

// actHost is a host that opens a source and a sink, prints their processes'
// numbers and then does nothing.
func actHost(arg string) {
	var a hostArgs
	if err := json.Unmarshal([]byte(arg), &a); err != nil {
		panic(err)
	}
	src, sink := actSupervise("source", a.Source, a.SourceMark), actSupervise("sink", a.Sink, a.SinkMark)
	if _, err := src.Source().Open(context.Background(), &hostEvents{}); err != nil {
		panic(err)
	}
	if _, err := sink.Sink().Open(context.Background(), newHostSession(1).Session); err != nil {
		panic(err)
	}
	fmt.Printf("%d %d\n", src.Status().PID, sink.Status().PID)
	select {}
}

func actSupervise(name, path, mark string) *Supervisor {
	s, _, err := Supervise(context.Background(), Spec{File: File{name, path}, Settings: sdk.NewSettings(fmt.Appendf(nil, `{"mark":%q}`, mark))})
	if err != nil {
		panic(err)
	}
	return s
}

func TestPluginsDoNotOutliveAKilledHost(t *testing.T) {
	dir := t.TempDir()
	a := hostArgs{install(t, dir, "source").Path, install(t, dir, "sink").Path, filepath.Join(dir, "m1"), filepath.Join(dir, "m2")}
	arg, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(install(t, dir, "host").Path, string(arg))
	temp, err := os.MkdirTemp("", "twg") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	host.Env = append(os.Environ(), "TMPDIR="+temp)
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err == nil {
		err = host.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var source, sink int
	if _, err := fmt.Fscanf(bufio.NewReader(out), "%d %d\n", &source, &sink); err != nil {
		t.Fatal(err)
	}
	host.Process.Kill()
	began := time.Now()
	host.Wait()
	for name, mark := range map[string]string{"source": a.SourceMark, "sink": a.SinkMark} {
		eventually(t, 2*time.Second, name+" is settled at once", func() bool {
			b, _ := os.ReadFile(mark)
			return strings.Contains(string(b), "closed context canceled")
		})
	}
	for name, pid := range map[string]int{"source": source, "sink": sink} {
		eventually(t, 10*time.Second-time.Since(began), name+" ends", func() bool { return !alive(pid) })
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("they have left %v", left)
	}
}

// alive: a process whose parent has gone may stay a zombie where nobody reaps.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}
