package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// fakeSource reads two partitions, each a file of JSON lines, in a directory
// that its processes share. It does everything right but for what its settings
// say.
type fakeSource struct {
	fakeSettings
	ev   sdk.Events
	me   string
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu   sync.Mutex
	runs map[int32]*fakeRun // of the streams that are assigned; nil: not started
}

// fakeRun is one run; cancel ends it and done says that it has.
type fakeRun struct {
	sdk.Start
	cancel context.CancelFunc
	done   chan struct{}
}

func fakeStreamOf(p int32) sdk.Stream {
	return sdk.Stream{Cluster: "fake", Topic: "t", Incarnation: "1", Partition: p}
}

func (s *fakeSource) wrong(names ...string) bool { return wrongs(s.Wrong).is(names...) }

func (s *fakeSource) Describe() sdk.Description {
	return sdk.Description{Name: "fakesource", Version: os.Getenv("LC_FAKE_VERSION"), Kind: sdk.KindSource, Schema: sdk.SchemaOf(fakeSettings{})}
}

func (s *fakeSource) Configure(set sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	diags := set.Decode(&s.fakeSettings)
	if _, err := os.Stat(s.Dir); err != nil && s.wrong("connects") {
		diags.Errorf("dir", "It is not there", "Make it.")
	}
	caps := sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginReplayable}
	if s.wrong("store", "remembers") { // the first is nothing wrong
		caps.Position = sdk.PositionStore
	}
	return caps, diags
}

func (s *fakeSource) path(name string) string { return filepath.Join(s.Dir, name) }

func (s *fakeSource) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	s.ev, s.runs = ev, map[int32]*fakeRun{}
	s.me = fmt.Sprintf("member-%d-%d", time.Now().UnixNano(), os.Getpid())
	if err := os.WriteFile(s.path(s.me), nil, 0o644); err != nil {
		return nil, err
	}
	if s.wrong("stops") {
		time.AfterFunc(50*time.Millisecond, func() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) })
	}
	interruptible(s.fakeSettings)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.wg.Go(func() { s.attend(ctx) })
	return s, nil
}

// attend takes and gives partitions as members come and go.
func (s *fakeSource) attend(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		all := s.members()
		for p := range int32(2) {
			s.mu.Lock()
			run, mine := s.runs[p]
			s.mu.Unlock()
			switch should := all[int(p)%len(all)] == s.me; {
			case should && !mine && s.claim(p):
				s.assigned(ctx, p)
			case !should && mine:
				s.give(ctx, p, run)
			}
		}
	}
}

// members are those whose processes live.
func (s *fakeSource) members() (out []string) {
	entries, _ := os.ReadDir(s.Dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "member-") && alive(pidOf(e.Name())) {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

func pidOf(member string) int {
	n, _ := strconv.Atoi(member[strings.LastIndex(member, "-")+1:])
	return n
}

func (s *fakeSource) owner(p int32) string { return s.path(fmt.Sprintf("owner%d", p)) }

// claim takes a partition that nobody alive has.
func (s *fakeSource) claim(p int32) bool {
	if b, err := os.ReadFile(s.owner(p)); err == nil && len(b) > 0 && !alive(pidOf(string(b))) && !s.wrong("clings") {
		os.Remove(s.owner(p))
	}
	f, err := os.OpenFile(s.owner(p), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return false
	}
	defer f.Close()
	f.WriteString(s.me)
	return true
}

func (s *fakeSource) assigned(ctx context.Context, p int32) {
	a := sdk.Assignment{Stream: fakeStreamOf(p), Committed: sdk.NoPosition, Initial: sdk.StartEarliest}
	if at, err := committedIn(s.Dir, p); err == nil && !s.wrong("forgetscommit") {
		a.Committed, a.CommittedIncarnation = at, "1"
	}
	s.mu.Lock()
	s.runs[p] = nil
	s.mu.Unlock()
	if s.wrong("eager") {
		s.wg.Go(func() { s.deliver(ctx, sdk.Start{Stream: a.Stream, Run: 1}) })
	}
	s.ev.Assigned(ctx, []sdk.Assignment{a})
}

// give ends a partition's run and lets others have it.
func (s *fakeSource) give(ctx context.Context, p int32, run *fakeRun) {
	if run != nil && !s.wrong("snatches") {
		s.ev.Revoking(ctx, []uint64{run.Run}, time.Now().Add(10*time.Second))
	}
	s.end(p)
	s.mu.Lock()
	delete(s.runs, p)
	s.mu.Unlock()
	os.Remove(s.owner(p))
}

// end ends the partition's run, if there is one.
func (s *fakeSource) end(p int32) {
	s.mu.Lock()
	run := s.runs[p]
	if _, mine := s.runs[p]; mine {
		s.runs[p] = nil
	}
	s.mu.Unlock()
	if run != nil {
		run.cancel()
		<-run.done
	}
}

func (s *fakeSource) Resolve(_ context.Context, qs []sdk.Query) (out []sdk.Resolved, err error) {
	for _, q := range qs {
		at := int64(0)
		if recs, err := recordsIn(s.Dir, q.Stream.Partition); err == nil && q.At == sdk.StartLatest && !s.wrong("zero") {
			at = int64(len(recs))
		}
		out = append(out, sdk.Resolved{Stream: q.Stream, Position: at})
	}
	return out, nil
}

func (s *fakeSource) Start(_ context.Context, starts []sdk.Start) error {
	for _, st := range starts {
		p := st.Stream.Partition
		s.mu.Lock()
		_, mine := s.runs[p]
		s.mu.Unlock()
		if (!mine || st.Stream != fakeStreamOf(p)) && !s.wrong("startsany") {
			return sdk.Errorf(sdk.KindFenced, "start", "%s is not assigned", st.Stream)
		}
		if !s.wrong("oldruns") {
			s.end(p)
		}
		ctx, cancel := context.WithCancel(context.Background())
		run := &fakeRun{st, cancel, make(chan struct{})}
		s.mu.Lock()
		s.runs[p] = run
		s.mu.Unlock()
		s.wg.Go(func() { defer close(run.done); s.deliver(ctx, st) })
	}
	return nil
}

// deliver reads a run until ctx ends.
func (s *fakeSource) deliver(ctx context.Context, st sdk.Start) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	at := st.Position
	for ; ; <-tick.C {
		if ctx.Err() != nil {
			return
		}
		recs, _ := recordsIn(s.Dir, st.Stream.Partition)
		end := int64(len(recs))
		if at > end && !s.wrong("repositions") {
			s.ev.Gap(sdk.Gap{Stream: st.Stream, Run: st.Run, Wanted: at, Available: end, Cause: sdk.GapOutOfRange})
			return
		}
		for at = min(at, end); at < end; {
			if _, err := s.ev.WaitCredit(ctx); err != nil {
				return
			}
			next := min(at+int64(s.ev.Limits().FrameRecords), end)
			if s.ev.Batch(ctx, s.batch(st, at, next, recs[at:next])) != nil {
				return
			}
			at = next
		}
	}
}

func (s *fakeSource) batch(st sdk.Start, from, next int64, recs []frame.Record) *sdk.Batch {
	kept := recs[:0:0]
	for i, r := range recs {
		r.Position = from + int64(i)
		if s.wrong("empty") && r.Value == nil {
			r.Value = []byte{}
		}
		if !s.wrong("small") || len(r.Value) < 1<<20 {
			kept = append(kept, r)
		}
	}
	b := batchOf(part{stream: st.Stream, from: from, next: next, recs: kept})
	b.IDs, b.Spans[0].Run = nil, st.Run
	if s.wrong("holes") && from > 0 {
		b.Spans[0].From--
	}
	return b
}

func (s *fakeSource) Commit(_ context.Context, marks []sdk.Mark) (errs []error) {
	for _, m := range marks {
		s.mu.Lock()
		run, mine := s.runs[m.Stream.Partition]
		s.mu.Unlock()
		var err error
		switch begun := run != nil && run.Run == m.Run || run == nil && m.Run >= 1000; {
		case s.wrong("liar"):
		case begun && s.wrong("store"):
		case !mine || m.Stream != fakeStreamOf(m.Stream.Partition) || !begun && !s.wrong("goeson"):
			err = sdk.Errorf(sdk.KindFenced, "commit", "run %d of %s is over", m.Run, m.Stream)
		default:
			err = os.WriteFile(committedPath(s.Dir, m.Stream.Partition), []byte(strconv.FormatInt(m.Next, 10)), 0o644)
		}
		errs = append(errs, err)
	}
	return errs
}

func (s *fakeSource) Drop(_ context.Context, runs []uint64) error {
	for p := range int32(2) {
		s.mu.Lock()
		run := s.runs[p]
		s.mu.Unlock()
		if run != nil && slices.Contains(runs, run.Run) && !s.wrong("goeson") {
			s.end(p)
		}
	}
	return nil
}

func (s *fakeSource) Close(ctx context.Context) error {
	if s.wrong("clings") {
		return nil
	}
	s.stop()
	for p := range int32(2) {
		s.end(p)
		s.mu.Lock()
		_, mine := s.runs[p]
		s.mu.Unlock()
		if mine {
			os.Remove(s.owner(p))
		}
	}
	os.Remove(s.path(s.me))
	s.wg.Wait()
	if s.wrong("stopfails") && ctx.Err() == nil {
		return errors.New("the source did not stop")
	}
	return nil
}

func recordsIn(dir string, p int32) (out []frame.Record, err error) {
	b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p%d", p)))
	for line := range bytes.Lines(b) {
		var r frame.Record
		if json.Unmarshal(line, &r) != nil {
			break // not written to its end yet
		}
		out = append(out, r)
	}
	return out, err
}

func produceInto(dir string, p int32, recs []frame.Record) error {
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("p%d", p)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	var text bytes.Buffer
	for _, r := range recs {
		if err := json.NewEncoder(&text).Encode(r); err != nil {
			return err
		}
	}
	_, err = f.Write(text.Bytes())
	return err
}

func committedPath(dir string, p int32) string {
	return filepath.Join(dir, fmt.Sprintf("committed%d", p))
}

func committedIn(dir string, p int32) (int64, error) {
	b, err := os.ReadFile(committedPath(dir, p))
	if err != nil {
		return sdk.NoPosition, err
	}
	return strconv.ParseInt(string(b), 10, 64)
}
