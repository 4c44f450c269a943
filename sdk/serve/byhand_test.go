package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

type nothing struct{}

func (nothing) Describe() sdk.Description {
	return sdk.Description{Name: "nothing", Version: "0.1", Kind: sdk.KindSink, Doc: "Forgets everything.", Schema: []sdk.Attribute{{Name: "x", Type: `"string"`}}}
}

func (nothing) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

// TestMain lets the test's program be a plugin that a person starts.
func TestMain(m *testing.M) {
	if os.Getenv("SERVE_BY_HAND") != "" {
		Main(nothing{})
	}
	os.Exit(m.Run())
}

func byHandRun(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "SERVE_BY_HAND=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if x, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		code = x.ExitCode()
	}
	return out.String(), errs.String(), code
}

func TestAPersonIsToldWhatAPluginIs(t *testing.T) {
	out, errs, code := byHandRun(t)
	if code != 1 || out != "" {
		t.Errorf("exit code %d, stdout %q", code, out)
	}
	for _, w := range []string{"nothing 0.1 (sink)", "Forgets everything.", "This is a twg plugin; put it into the plugin directory", "twg-plugin-nothing"} {
		if !strings.Contains(errs, w) {
			t.Errorf("the text lacks %q:\n%s", w, errs)
		}
	}
}

func TestDescribeAsJSON(t *testing.T) {
	out, _, code := byHandRun(t, "--describe")
	var d sdk.Description
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Name != "nothing" || len(d.Schema) != 1 {
		t.Errorf("exit code %d, %v, %s", code, err, out)
	}
}

func TestLogLinesAreTakenApartByTheHost(t *testing.T) {
	var b bytes.Buffer
	newLogger(&b).Warn("slow broker", slog.String("addr", "a:1"), slog.Group("g", slog.String("level", "x")))
	var m map[string]any
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if m["@level"] != "warn" || m["@message"] != "slow broker" || m["addr"] != "a:1" || m["@timestamp"] == nil || m["g"].(map[string]any)["level"] != "x" {
		t.Errorf("line %s", b.String())
	}
}
