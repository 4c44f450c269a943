package plugintest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
)

// hostVariable makes any test program with this package in it the host that
// will be killed: a host can be killed only if it is a process of its own.
const hostVariable = "TWG_PLUGINTEST_HOST"

func init() {
	if arg := os.Getenv(hostVariable); arg != "" {
		actHost(arg)
	}
}

// hostTask is what that host runs.
type hostTask struct {
	Name, Path, Settings string
	Sink                 bool
}

// actHost opens the plugin, prints its process's number and waits for its own
// end.
func actHost(arg string) {
	var task hostTask
	if err := json.Unmarshal([]byte(arg), &task); err != nil {
		panic(err)
	}
	p, err := plugins.Launch(context.Background(), plugins.File{Name: task.Name, Path: task.Path}, plugins.Options{})
	streams := 0
	if err == nil {
		streams, err = openFor(p, task)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.PID(), streams)
	select {}
}

// openFor returns how many streams a source was given.
func openFor(p *plugins.Process, task hostTask) (int, error) {
	caps, _, err := p.Configure(context.Background(), sdk.NewSettings([]byte(task.Settings)))
	if err != nil {
		return 0, err
	}
	if !task.Sink {
		return openSource(p)
	}
	w, err := p.Sink(caps).Open(context.Background(), sdk.Session{ID: 1, Pipeline: "plugintest", Owner: "killed",
		Limits: sdk.DefaultLimits, Report: func(sdk.Receipt) {}, Flushed: func(uint64) {}, Fail: func(error) {}})
	if err != nil {
		return 0, err
	}
	b := batchOf(part{stream: streamA, next: 10, recs: plain(0, 10)})
	b.Seq = 1
	return 0, w.Write(context.Background(), b)
}

// openSource opens a source and starts all that it gets.
func openSource(p *plugins.Process) (streams int, err error) {
	ev := newEvents()
	r, err := p.Source().Open(context.Background(), ev)
	if err != nil {
		return 0, err
	}
	ev.attach(r)
	err = attempt(func() {
		ev.startAll(0)
		streams = len(ev.runs)
		ev.grant(1 << 20)
	})
	return streams, err
}

// killHost runs a host with the plugin, kills it with SIGKILL and returns the
// plugin's process, and how many streams it had.
func (b *bench) killHost(settings string, sink bool) (pid, streams int) {
	self, err := os.Executable()
	must(err, "find the test's own program")
	arg, err := json.Marshal(hostTask{b.file.Name, b.file.Path, settings, sink})
	must(err, "write the host's task")
	host := exec.Command(self)
	host.Env = append(os.Environ(), hostVariable+"="+string(arg))
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	must(err, "run a host")
	must(host.Start(), "run a host")
	defer host.Wait()
	defer host.Process.Kill()
	if _, err := fmt.Fscanf(bufio.NewReader(out), "%d %d\n", &pid, &streams); err != nil {
		failf("the host that was to be killed did not come up: %w", err)
	}
	b.t.Cleanup(func() {
		if alive(pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid, streams
}

// leaves fails unless a process ends in time.
func leaves(pid int, since time.Time) {
	if !eventually(orphanTime-time.Since(since), func() bool { return !alive(pid) }) {
		failf("process %d runs %v after its host was killed", pid, orphanTime)
	}
}

// alive: a process whose parent has gone may stay a zombie where nobody reaps.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(b), ") Z ")
}
