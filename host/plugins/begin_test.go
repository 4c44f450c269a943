package plugins

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// mortal is a sink whose first processes are killed at the moment that its
// name says. A file beside the program counts those that are still to be.
type mortal struct {
	fakeSink
	moment string
}

func newMortal(moment string) *mortal {
	m := &mortal{fakeSink{name: moment}, moment}
	m.at("at-once")
	return m
}

// at is a moment.
func (m *mortal) at(moment string) {
	counter := os.Args[0] + ".left"
	b, err := os.ReadFile(counter)
	left, _ := strconv.Atoi(string(b))
	if m.moment != moment || err != nil || left == 0 {
		return
	}
	if err := os.WriteFile(counter, fmt.Append(nil, left-1), 0o644); err != nil {
		panic(err)
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (m *mortal) Describe() sdk.Description {
	m.at("when-described")
	return m.fakeSink.Describe()
}

func (m *mortal) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	m.at("when-configured")
	return m.fakeSink.Configure(s)
}

// A process that is killed at its start is started again, a few times; what
// else goes wrong at a start is told at once.
func TestAProcessThatIsKilledAtItsStartIsStartedAgain(t *testing.T) {
	for _, moment := range []string{"at-once", "when-described", "when-configured"} {
		for _, kills := range []int{1, startTries - 1, startTries} {
			t.Run(fmt.Sprint(moment, kills), func(t *testing.T) {
				f := install(t, t.TempDir(), moment)
				if err := os.WriteFile(f.Path+".left", fmt.Append(nil, kills), 0o644); err != nil {
					t.Fatal(err)
				}
				s, diags, err := Supervise(t.Context(), Spec{File: f, Settings: settingsOf(t, fakeSettings{})})
				if kills < startTries {
					if err != nil || diags.HasErrors() {
						t.Fatal(err, diags)
					}
					s.Close()
					return
				}
				if err == nil || !Killed(err) || !strings.Contains(err.Error(), "was killed by signal 9") {
					t.Errorf("after %d kills: %v", kills, err)
				}
			})
		}
	}
}

// A program that ends by itself has said what it had to say.
func TestAProgramThatExitsAtItsStartIsNotStartedAgain(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	f := writeFile(t, dir, "script", "#!/bin/sh\necho x >> "+count+"\nexit 1\n")
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	if p, err := Launch(t.Context(), f, Options{StartTimeout: 10 * time.Second}); err == nil {
		p.Kill()
		t.Fatal("it was launched")
	}
	if b, err := os.ReadFile(count); err != nil || string(b) != "x\n" {
		t.Errorf("started %d times: %v", strings.Count(string(b), "x"), err)
	}
}
