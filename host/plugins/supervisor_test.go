package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// quick is a backoff for tests.
var quick = Backoff{First: 5 * time.Millisecond, Max: 50 * time.Millisecond, Healthy: time.Hour}

func supervise(t *testing.T, name string, set fakeSettings, opt Options, back Backoff) *Supervisor {
	t.Helper()
	s, diags, err := Supervise(t.Context(), Spec{File: install(t, t.TempDir(), name), Settings: settingsOf(t, set), Options: opt, Backoff: back})
	if err != nil || diags.HasErrors() {
		t.Fatal(err, diags)
	}
	t.Cleanup(s.Close)
	return s
}

// hostSession is a session whose receipts and failure are channels.
type hostSession struct {
	sdk.Session
	receipts chan sdk.Receipt
	failed   chan error
}

func newHostSession(id uint64) *hostSession {
	h := &hostSession{receipts: make(chan sdk.Receipt, 100), failed: make(chan error, 1)}
	h.Session = sdk.Session{ID: id, Limits: sdk.DefaultLimits, Report: func(r sdk.Receipt) { h.receipts <- r }, Fail: func(err error) { h.failed <- err }}
	return h
}

func openSink(t *testing.T, s *Supervisor, h *hostSession) sdk.Writer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w, err := s.Sink().Open(ctx, h.Session)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func get[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func someBatch(t *testing.T, seq uint64) *sdk.Batch {
	t.Helper()
	var b frame.Builder
	b.Append(b.Stream(fakeStream), &frame.Record{Position: int64(seq), Value: []byte("v")})
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Seq: seq, Frame: v, IDs: make([]byte, 16), Spans: []sdk.Span{{Stream: fakeStream, From: int64(seq), Next: int64(seq) + 1, Run: 1}}}
}

func TestAKilledPluginIsNoticedAtOnceAndReplaced(t *testing.T) {
	s, sibling := supervise(t, "sink", fakeSettings{}, Options{}, quick), supervise(t, "sink", fakeSettings{}, Options{}, quick)
	h := newHostSession(1)
	w := openSink(t, s, h)
	if err := w.Write(t.Context(), someBatch(t, 1)); err != nil {
		t.Fatal(err)
	}
	get(t, h.receipts, "receipt")
	pid, other := s.Status().PID, sibling.Status().PID
	began := time.Now()
	syscall.Kill(pid, syscall.SIGKILL)
	err := get(t, h.failed, "failure")
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("noticed after %v", d)
	}
	if !strings.Contains(err.Error(), "killed by signal 9") || sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("the error says %v", err)
	}
	h2 := newHostSession(2)
	w2 := openSink(t, s, h2)
	if err := w2.Write(t.Context(), someBatch(t, 1)); err != nil {
		t.Fatal(err)
	}
	if r := get(t, h2.receipts, "receipt"); r.Session != 2 || r.Outcomes[0].Kind != sdk.Durable {
		t.Errorf("receipt %+v", r)
	}
	if st := s.Status(); st.Restarts != 1 || st.PID == pid || st.PID == 0 || st.Last == nil {
		t.Errorf("status %+v", st)
	}
	if st := sibling.Status(); st.PID != other || st.Restarts != 0 {
		t.Errorf("the sibling was touched: %+v", st)
	}
	if err := w2.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAStoppedPluginIsNoticedByItsSilence(t *testing.T) {
	s := supervise(t, "sink", fakeSettings{}, Options{PingInterval: 100 * time.Millisecond}, quick)
	h := newHostSession(1)
	openSink(t, s, h)
	pid := s.Status().PID
	syscall.Kill(pid, syscall.SIGSTOP)
	err := get(t, h.failed, "failure")
	if !strings.Contains(err.Error(), "no answer to 3 pings") {
		t.Errorf("the error says %v", err)
	}
	w := openSink(t, s, newHostSession(2))
	if now := s.Status().PID; now == pid {
		t.Error("the silent process was kept")
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the silent process is still there: %v", err)
	}
}

func TestASinkThatAnswersWronglyIsNotBelieved(t *testing.T) {
	for mode, want := range map[string]string{"twice": "answered again", "never-sent": "never sent", "wrong-span": "has no span", "wrong-session": "session 2"} {
		t.Run(mode, func(t *testing.T) {
			s := supervise(t, "sink", fakeSettings{Mode: mode, Password: "hunter2"}, Options{}, quick)
			h := newHostSession(1)
			w := openSink(t, s, h)
			w.Write(t.Context(), someBatch(t, 1))
			err := get(t, h.failed, "failure")
			if !strings.Contains(err.Error(), "protocol error") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error says %v", err)
			}
		})
	}
}

func TestAPanicIsShownWithItsLastLines(t *testing.T) {
	s := supervise(t, "sink", fakeSettings{Mode: "panic", Password: "hunter2"}, Options{}, quick)
	h := newHostSession(1)
	openSink(t, s, h).Write(t.Context(), someBatch(t, 1))
	err := get(t, h.failed, "failure")
	for _, w := range []string{"exited with code 2", "stderr: ", "fake_test.go"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error lacks %q: %v", w, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a secret: %v", err)
	}
}

func TestAFatalErrorOfOpenIsReturned(t *testing.T) {
	s := supervise(t, "sink", fakeSettings{Mode: "openfatal"}, Options{}, quick)
	_, err := s.Sink().Open(t.Context(), newHostSession(1).Session)
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "open log: the directory is not ours") {
		t.Errorf("open: %v", err)
	}
}

func TestDiagnosticsWithErrorsLeaveNothingRunning(t *testing.T) {
	s, diags, err := Supervise(t.Context(), Spec{File: install(t, t.TempDir(), "sink"), Settings: settingsOf(t, fakeSettings{Mode: "refuse"})})
	if err != nil || !diags.HasErrors() || s != nil {
		t.Fatalf("%v %v %v", s, diags, err)
	}
}

// A plugin whose file has gone cannot be started again: that is said, not
// tried for ever.
func TestAPluginThatCannotComeBackIsFatal(t *testing.T) {
	dir := t.TempDir()
	f := install(t, dir, "sink")
	s, _, err := Supervise(t.Context(), Spec{File: f, Settings: settingsOf(t, fakeSettings{}), Backoff: quick})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	os.Remove(f.Path)
	syscall.Kill(s.Status().PID, syscall.SIGKILL)
	eventually(t, 10*time.Second, "the supervisor gives up", s.gaveUp)
	_, err = s.Sink().Open(t.Context(), newHostSession(1).Session)
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), f.Path) {
		t.Errorf("open: %v", err)
	}
}

func TestStopDuringBackoffIsPrompt(t *testing.T) {
	s, _, err := Supervise(t.Context(), Spec{File: install(t, t.TempDir(), "sink"), Settings: settingsOf(t, fakeSettings{}), Backoff: Backoff{First: time.Hour, Max: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(s.Status().PID, syscall.SIGKILL)
	eventually(t, 10*time.Second, "the end is noticed", func() bool { return s.Status().Last != nil })
	opened := make(chan error, 1)
	go func() {
		_, err := s.Sink().Open(t.Context(), newHostSession(1).Session)
		opened <- err
	}()
	began := time.Now()
	s.Close()
	if d := time.Since(began); d > time.Second {
		t.Errorf("stopping took %v", d)
	}
	if err := get(t, opened, "answer of Open"); err == nil {
		t.Error("a stopped plugin was opened")
	}
}

func TestOpenHonoursItsContext(t *testing.T) {
	s := supervise(t, "sink", fakeSettings{}, Options{}, Backoff{First: time.Hour, Max: time.Hour})
	syscall.Kill(s.Status().PID, syscall.SIGKILL)
	eventually(t, 10*time.Second, "the end is noticed", func() bool { return s.Status().Last != nil })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := s.Sink().Open(ctx, newHostSession(1).Session)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "killed by signal 9") {
		t.Errorf("open: %v", err)
	}
}

func TestAFailedSessionGetsAFreshProcess(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	s := supervise(t, "sink", fakeSettings{Mode: "twice", Mark: mark}, Options{}, quick)
	h := newHostSession(1)
	w := openSink(t, s, h)
	pid := s.Status().PID
	w.Write(t.Context(), someBatch(t, 1))
	get(t, h.failed, "failure")
	eventually(t, 10*time.Second, "another process", func() bool { p := s.Status().PID; return p != 0 && p != pid })
	if b, _ := os.ReadFile(mark); !strings.Contains(string(b), "canceled") {
		t.Errorf("the failed session was settled with %q, want an ended context", b)
	}
}
