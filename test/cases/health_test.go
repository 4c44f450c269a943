package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

// endpoint is a run's admin endpoint on a unix socket.
type endpoint struct {
	path   string
	client *http.Client
}

func newEndpoint(t *testing.T) *endpoint {
	path := filepath.Join(t.TempDir(), "s")
	return &endpoint{path, &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}}
}

// block is the admin block of a pipeline file.
func (e *endpoint) block(more string) string {
	return fmt.Sprintf("admin {\n  listen = %q\n  %s\n}\n", "unix:"+e.path, more)
}

// ask returns the code, 0 if nobody answers.
func (e *endpoint) ask(path string, into any) int {
	resp, err := e.client.Get("http://twg" + path)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || json.Unmarshal(body, into) != nil {
		return 0
	}
	return resp.StatusCode
}

// ready returns the verdict; without an answer it has no time.
func (e *endpoint) ready() (v health.Verdict) {
	e.ask("/ready", &v)
	return v
}

// says reports whether a reason of the code mentions the text.
func says(v health.Verdict, code health.Code, text string) bool {
	for _, r := range v.Reasons {
		if r.Code == code && strings.Contains(r.Detail, text) {
			return true
		}
	}
	return false
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// pipelineText is a pipeline that reads the topic into a directory of its own.
func pipelineText(broker, name, dir string) string {
	return fmt.Sprintf(`pipeline %q {
  max_ack_delay = "200ms"
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = [%q]
      group   = %q
    }
  }
  sink "parquet" "lake" {
    config { dir = %q }
  }
}
`, name, broker, topic, name, dir)
}

func (w *world) pipelineText(name, dir string) string {
	return pipelineText(w.broker.ListenAddrs()[0], name, dir)
}

// turnsWithin is the bound that docs/operations.md states: what the source
// takes to notice that nobody answers, and a second for each look.
const turnsWithin = 15 * time.Second

// Case 16: brokers vanish after the start. /ready turns within the bound that
// is documented and says why, and the host lives on.
func TestBrokersVanish(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(100)...)
	e := newEndpoint(t)
	after := 2 * time.Second
	p := start(t, writeFile(t, e.block(fmt.Sprintf("unreachable_after = %q", after))+w.pipelineText(group, w.dir)))
	p.Eventually("a host that is ready, and has committed", func() bool { return e.ready().OK && w.committed() == 100 })

	gone := time.Now()
	w.broker.Close()
	p.Eventually("a host that is not ready because of its brokers", func() bool {
		return says(e.ready(), health.BrokerUnreachable, "do not answer")
	})
	if took, most := time.Since(gone), after+turnsWithin; took > most {
		t.Errorf("/ready turned after %s, later than %s", took, most)
	} else {
		t.Logf("/ready turned after %s", took)
	}
	var live health.Verdict
	if code := e.ask("/live", &live); code != 200 || !live.OK {
		t.Errorf("/live: %d %+v; a host without brokers is not to be started anew", code, live)
	}
	p.Stop()
}

// brokerProcess is a broker with the topic, in a process of its own.
func brokerProcess(t *testing.T) (address string, p *os.Process) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "twg"), "dev", "kafka", "--listen", "127.0.0.1:0", "--topic", topic+":1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line), cmd.Process
}

// Case 16, with a broker that hangs: connections stay, and nothing comes. The
// bound is the same; when the broker goes on, so does the host.
func TestBrokerHangs(t *testing.T) {
	address, broker := brokerProcess(t)
	e, after := newEndpoint(t), time.Second
	p := start(t, writeFile(t, e.block(fmt.Sprintf("unreachable_after = %q", after))+pipelineText(address, group, filepath.Join(t.TempDir(), "lake"))))
	p.Eventually("a host that is ready", func() bool { return e.ready().OK })
	if err := broker.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	p.Eventually("a host that is not ready because of its brokers", func() bool {
		return says(e.ready(), health.BrokerUnreachable, "do not answer")
	})
	if took, most := time.Since(at), after+turnsWithin; took > most {
		t.Errorf("/ready turned after %s, later than %s", took, most)
	} else {
		t.Logf("/ready turned after %s", took)
	}
	if err := broker.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.Eventually("a host that is ready again", func() bool { return e.ready().OK })
	p.Stop()
}

// A plugin's process that is stopped is noticed and named, long before its
// session ends; the other pipeline goes on, and so does its own when the
// process was replaced.
func TestStoppedPlugin(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(10)...)
	e, other := newEndpoint(t), filepath.Join(t.TempDir(), "other")
	p := start(t, writeFile(t, e.block("")+w.pipelineText(group, w.dir)+w.pipelineText("sibling", other)))
	p.Eventually("a host that is ready, and has committed", func() bool { return e.ready().OK && w.committed() == 10 })

	sink := pluginOf(t, e, group, "sink lake")
	if err := syscall.Kill(sink.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	p.Eventually("a host that names the process", func() bool {
		return says(e.ready(), health.PluginDown, fmt.Sprintf("process %d is stopped", sink.PID))
	})
	if took := time.Since(at); took > 5*time.Second {
		t.Errorf("it was named after %s", took)
	}
	w.produce(numbered(10)...)
	p.Eventually("a sibling that goes on", func() bool { return streamOf(e, "sibling").Committed == 20 })
	if got := w.committed(); got != 10 {
		t.Errorf("%d was committed on the word of a sink that says nothing", got)
	}
	p.Eventually("another process, and what it has to do done", func() bool { return w.committed() == 20 && e.ready().OK })
	if now := pluginOf(t, e, group, "sink lake"); now.PID == sink.PID || now.Restarts == 0 {
		t.Errorf("%+v, before that %+v", now, sink)
	}
	p.Stop()
	w.check(20)
}

func pipelineOf(e *endpoint, name string) view.Pipeline {
	var h view.Host
	e.ask("/status", &h)
	for _, p := range h.Pipelines {
		if p.Name == name {
			return p
		}
	}
	return view.Pipeline{}
}

func streamOf(e *endpoint, name string) view.Stream {
	for _, s := range pipelineOf(e, name).Streams {
		return s
	}
	return view.Stream{}
}

func pluginOf(t *testing.T, e *endpoint, pipeline, part string) view.Plugin {
	t.Helper()
	for _, x := range pipelineOf(e, pipeline).Plugins {
		if x.Part == part {
			return x
		}
	}
	t.Fatalf("pipeline %s tells of no plugin for %s", pipeline, part)
	return view.Plugin{}
}
