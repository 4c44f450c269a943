package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/twg-io/twg/internal/wire"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/serve"
)

// TestMain lets the test's own program be the plugins, and the host that is
// killed: which one, its name says.
func TestMain(m *testing.M) {
	switch name := strings.TrimPrefix(filepath.Base(os.Args[0]), Prefix); name {
	case "sink", "sink2":
		serve.Main(&fakeSink{name: "sink"})
	case "source":
		serve.Main(&fakeSource{})
	case "at-once", "when-described", "when-configured":
		serve.Main(newMortal(name))
	case "exits":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "hangs":
		select {}
	case "newer":
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: 2, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
			Plugins:         goplugin.PluginSet{wire.Service: servesNothing{}}, GRPCServer: func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(o...) }})
	case "host":
		actHost(os.Args[1])
	default:
		os.Exit(m.Run())
	}
	os.Exit(0)
}

// servesNothing is a plugin of a later protocol version.
type servesNothing struct{ dispense }

func (servesNothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

// install puts the test's program into dir as a plugin of that name.
func install(t *testing.T, dir, name string) File {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Prefix+name)
	if err := os.Link(self, path); err != nil {
		copyFile(t, self, path)
	}
	return File{Name: name, Path: path}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeFile makes a plugin's file of any content.
func writeFile(t *testing.T, dir, name, content string) File {
	t.Helper()
	path := filepath.Join(dir, Prefix+name)
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return File{Name: name, Path: path}
}

// fakeSettings say how a fake behaves.
type fakeSettings struct {
	Password string `json:"password"`
	Mode     string `json:"mode"`
	Mark     string `json:"mark"` // a file to write to when a session ends
	Records  int    `json:"records"`
	Size     int    `json:"size"`
}

func settingsOf(t *testing.T, s fakeSettings) sdk.Settings {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return sdk.NewSettings(b)
}

func parse(s sdk.Settings) (f fakeSettings, diags sdk.Diagnostics) {
	if err := json.Unmarshal(s.JSON(), &f); err != nil {
		diags.Errorf("", "not an object", "write an object")
	}
	if f.Mode == "refuse" {
		diags.Errorf("mode", "unknown mode", "use another")
	}
	return f, diags
}

// fakeSink answers every batch, as its mode says.
type fakeSink struct {
	name string
	set  fakeSettings
	ses  sdk.Session
	prev *sdk.Batch
}

func (s *fakeSink) Describe() sdk.Description {
	return sdk.Description{Name: s.name, Version: "1.2.3", Kind: sdk.KindSink, Schema: []sdk.Attribute{{Name: "password", Type: `"string"`, Sensitive: true}}}
}

func (s *fakeSink) Configure(set sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	var diags sdk.Diagnostics
	s.set, diags = parse(set)
	return sdk.Capabilities{Durable: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, Targets: environment()}, diags
}

func (s *fakeSink) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	if s.set.Mode == "openfatal" {
		return nil, sdk.Errorf(sdk.KindFatal, "open log", "the directory is not ours")
	}
	s.ses, s.prev = ses, nil
	return s, nil
}

func (s *fakeSink) Write(_ context.Context, b *sdk.Batch) error {
	r := sdk.AllDurable(s.ses.ID, b)
	switch s.set.Mode {
	case "twice":
		s.ses.Report(r)
	case "never-sent":
		r.Seq += 100
	case "wrong-span":
		r.Outcomes[0].Stream.Topic = "other"
	case "wrong-session":
		r.Session++
	case "pid":
		r.Outcomes[0] = sdk.Outcome{Stream: b.Spans[0].Stream, Run: b.Spans[0].Run, From: b.Spans[0].From, Next: b.Spans[0].Next, Kind: sdk.Retryable, Reason: fmt.Sprint(os.Getpid())}
	case "panic":
		panic("the fake is broken")
	}
	s.ses.Report(r)
	return nil
}

func (s *fakeSink) Close(ctx context.Context) error {
	if s.set.Mark != "" {
		return os.WriteFile(s.set.Mark, fmt.Appendf(nil, "closed %v", ctx.Err()), 0o644)
	}
	return nil
}

// eventually polls a condition that a real process must bring about.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within %v: %s", within, what)
}
