package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/plugins/parquet/sink"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// directory is a world's store where the sink is the real Parquet sink: a
// directory that fails now and then, and knows what a power cut leaves of it.
type directory struct {
	mem  *disk.Mem
	calm atomic.Bool

	mu      sync.Mutex
	rng     *rand.Rand
	footers map[string]*footer.Footer // of files that were read
}

func newDirectory(seed uint64) *directory {
	d := &directory{mem: disk.NewMem(), rng: rand.New(rand.NewPCG(seed, 2)), footers: map[string]*footer.Footer{}}
	d.mem.Fail = func(op, name string) error {
		if !d.calm.Load() && d.n(300) == 0 {
			return errors.New("input/output error")
		}
		return nil
	}
	return d
}

func (d *directory) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// commits reads what is visible.
func (d *directory) commits(f func(name string, foot *footer.Footer)) {
	calm := d.calm.Swap(true) // whoever looks on sees everything
	defer d.calm.Store(calm)
	dir := d.mem.Dir()
	names, err := dir.List()
	for _, name := range names {
		if !strings.HasSuffix(name, ".parquet") {
			continue
		}
		foot := d.footers[name]
		if foot == nil {
			b := d.mem.Bytes(name)
			if foot, err = footer.Read(bytes.NewReader(b), int64(len(b))); err != nil {
				panic(fmt.Sprintf("INV7: %s is visible and not complete: %v", name, err))
			}
			d.footers[name] = foot
		}
		f(name, foot)
	}
	if err != nil {
		panic(err)
	}
}

// coverage is what the visible commits say of a stream.
func (d *directory) coverage(k sdk.Stream) *coverage.Set {
	var set coverage.Set
	d.commits(func(_ string, foot *footer.Footer) {
		for _, s := range foot.Spans {
			if s.Stream == k {
				set.AddHeld(s.Interval)
			}
		}
		for _, v := range foot.Voids {
			if v.Stream == k {
				set.AddVoid(v.Void)
			}
		}
	})
	return &set
}

// read puts rows and coverage of the files where judge looks for them. The
// world's lock is held.
func (d *directory) read(w *world) {
	for _, p := range w.parts {
		p.cov, p.rows = *d.coverage(p.key), map[int64]int{}
		for _, v := range p.cov.Voids() {
			if v.Next > p.start {
				w.wrong("[%d,%d) of %s is void (%s), the log begins at %d", v.From, v.Next, p.key, v.Reason, p.start)
			}
		}
	}
	d.commits(func(name string, _ *footer.Footer) {
		b := d.mem.Bytes(name)
		rows, err := parquet.Read[rawfile.Row](bytes.NewReader(b), int64(len(b)))
		if err != nil {
			w.wrong("%s cannot be read: %v", name, err)
		}
		for _, r := range rows {
			k := sdk.Stream{Cluster: r.Cluster, Topic: r.Topic, Incarnation: r.Incarnation, Partition: r.Partition}
			w.byKey[k].rows[r.Position]++
		}
	})
}

// powerCut: what was not synced is lost, or not. Whatever was committed must
// be there. The world's lock is held.
func (d *directory) powerCut(w *world) {
	d.mem.PowerCut(func(string) bool { return d.n(2) == 0 })
	clear(d.footers)
	for _, p := range w.parts {
		if hole := d.coverage(p.key).FirstHole(); p.committed > hole {
			w.wrong("INV1: after a power cut %s is committed at %d, the directory has all below %d", p.key, p.committed, hole)
		}
	}
	w.did["power cut"]++
}

// fileSink is the Parquet sink as processes that are killed and replaced.
type fileSink struct {
	d        *directory
	settings string

	mu   sync.Mutex
	proc *fileProcess
	gone bool // its machine is
}

type fileProcess struct {
	*sink.Sink
	dir  *disk.MemDir
	mu   sync.Mutex
	dead bool
	fail func(error) // of the open session
}

var errKilled = errors.New("the process was killed")

func (d *directory) sink(settings string) *fileSink { return &fileSink{d: d, settings: settings} }

// live returns the process, a new one if the last is dead.
func (s *fileSink) live() (*fileProcess, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, errKilled
	}
	if s.proc == nil || s.proc.isDead() {
		p := &fileProcess{dir: s.d.mem.Dir()}
		p.Sink = sink.NewOn(func(string, bool) (disk.Dir, error) { return p.dir, nil })
		if _, diags := p.Configure(sdk.NewSettings([]byte(s.settings))); diags.HasErrors() {
			panic(diags)
		}
		s.proc = p
	}
	return s.proc, nil
}

func (p *fileProcess) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// kill is kill -9. for good: the machine, too.
func (s *fileSink) kill(forGood bool) {
	s.mu.Lock()
	s.gone = s.gone || forGood
	p := s.proc
	s.mu.Unlock()
	if p == nil {
		return
	}
	p.dir.Kill()
	p.mu.Lock()
	p.dead = true
	fail := p.fail
	p.fail = nil
	p.mu.Unlock()
	if fail != nil {
		fail(errKilled)
	}
}

// answer is what a call to a process comes to: nothing, if it died.
func (p *fileProcess) answer(err error) error {
	if p.isDead() {
		return errKilled
	}
	return err
}

func (s *fileSink) Describe() sdk.Description { return sink.New().Describe() }
func (s *fileSink) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

func (s *fileSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	p, err := s.live()
	if err != nil {
		return nil, err
	}
	report := ses.Report
	ses.Report = func(r sdk.Receipt) {
		if !p.isDead() { // nor can it be heard
			report(r)
		}
	}
	p.mu.Lock()
	p.fail = ses.Fail
	p.mu.Unlock()
	w, err := p.Sink.Open(ctx, ses)
	if err := p.answer(err); err != nil {
		return nil, err
	}
	return fileWriter{w, w.(sdk.Flusher), p}, nil
}

type fileWriter struct {
	sdk.Writer
	sdk.Flusher
	p *fileProcess
}

func (w fileWriter) Write(ctx context.Context, b *sdk.Batch) error {
	if w.p.isDead() {
		return errKilled
	}
	return w.p.answer(w.Writer.Write(ctx, b))
}

func (w fileWriter) Close(ctx context.Context) error { return w.p.answer(w.Writer.Close(ctx)) }

func (s *fileSink) with(f func(*fileProcess) error) error {
	p, err := s.live()
	if err != nil {
		return err
	}
	return p.answer(f(p))
}

func (s *fileSink) Acquire(ctx context.Context, owner string, ks []sdk.Stream) (out []sdk.Acquired, err error) {
	err = s.with(func(p *fileProcess) (err error) { out, err = p.Acquire(ctx, owner, ks); return })
	return out, err
}

func (s *fileSink) Coverage(ctx context.Context, lane string, ks []sdk.Stream) (out []sdk.StreamCoverage, err error) {
	err = s.with(func(p *fileProcess) (err error) { out, err = p.Coverage(ctx, lane, ks); return })
	return out, err
}

func (s *fileSink) Cursors(ctx context.Context, ks []sdk.Stream) (out []sdk.Cursor, err error) {
	err = s.with(func(p *fileProcess) (err error) { out, err = p.Cursors(ctx, ks); return })
	return out, err
}

func (s *fileSink) Record(ctx context.Context, lane string, rs []sdk.CoverageRecord) error {
	return s.with(func(p *fileProcess) error { return p.Record(ctx, lane, rs) })
}

// TestRandomSchedulesOfFiles: the same with the real Parquet sink in virtual
// time: killed, on a disk that fails, and with power cuts (INV1, INV7, INV8).
func TestRandomSchedulesOfFiles(t *testing.T) {
	randomSchedules(t, max(*schedules/10, 1), onFiles, "power cut", "sink killed")
}
