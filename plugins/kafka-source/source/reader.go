package source

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/plugins/kafka-source/recordbatch"
	"github.com/twg-io/twg/sdk"
)

// reader is an open source. Its goroutines, all ended by Close: announce,
// watchMetadata, reportLag, watchGroup, watchOthers, the sender, and one fetchFrom a
// broker.
type reader struct {
	set     *Settings
	log     *slog.Logger
	sparse  sparse
	events  sdk.Events
	client  *kgo.Client
	cluster *cluster
	table   *table
	budget  *budget
	commits turns
	chunks  chan chunk

	// announcing is held while the host is told about streams, so that it
	// hears of a stream before it hears of its end.
	announcing sync.Mutex
	// recreated holds the topics that were created anew while this source was
	// open. Guarded by announcing.
	recreated map[string]bool
	// told is what the host was last told about the topics: what the last survey
	// found or, where the brokers do not answer, that. Guarded by announcing.
	told, surveyed []sdk.Topic
	silence        string
	// missing is why topics cannot be read, as metadata had it last, and lacking
	// whether anything is not there. Guarded by announcing.
	missing map[string]error
	lacking bool
	others  *elsewhere

	// picked and firstParts are used where the settings name partitions.
	// firstParts is how many a topic had when this source first saw it; guarded
	// by announcing.
	picked     picked
	firstParts map[string]int

	announceWanted, metadataWanted, lagWanted, othersWanted chan struct{} // one slot each

	cancel  context.CancelFunc
	wg      sync.WaitGroup
	closing sync.Once
}

func open(set *Settings, log *slog.Logger, ev sdk.Events) (*reader, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{
		set: set, log: log, events: ev,
		table: newTable(), budget: newBudget(set.prefetch()), commits: newTurns(),
		chunks:         make(chan chunk),
		announceWanted: make(chan struct{}, 1),
		metadataWanted: make(chan struct{}, 1),
		lagWanted:      make(chan struct{}, 1),
		othersWanted:   make(chan struct{}, 1),
		others:         newElsewhere(),
		recreated:      make(map[string]bool),
		firstParts:     make(map[string]int),
		cancel:         cancel,
	}
	client, err := kgo.NewClient(set.clientOptions(log, r.groupCallbacks(ctx))...)
	if err != nil {
		cancel()
		return nil, sdk.Errorf(sdk.KindFatal, "make client", "%w", err)
	}
	r.client = client
	r.cluster = &cluster{client: client, names: set.Topics}
	if set.storeManaged() {
		r.assignNamed()
	} else {
		r.wg.Go(func() { r.watchGroup(ctx) })
		r.wg.Go(func() { r.watchOthers(ctx) })
	}
	r.wg.Go(func() { r.announce(ctx) })
	r.wg.Go(func() { r.watchMetadata(ctx) })
	r.wg.Go(func() { r.reportLag(ctx) })
	r.wg.Go(func() { r.newSender().run(ctx, r.chunks) })
	return r, nil
}

func (r *reader) newSender() *sender {
	return &sender{
		table: r.table, events: r.events, limits: r.events.Limits(), budget: r.budget, maxRecord: maxRecord,
		expand: recordbatch.NewDecompressor(int(r.set.MaxBatchBytes)),
	}
}

// Resolve implements sdk.Reader.
func (r *reader) Resolve(ctx context.Context, q []sdk.Query) ([]sdk.Resolved, error) {
	return r.resolve(ctx, q)
}

// Start implements sdk.Reader.
func (r *reader) Start(_ context.Context, starts []sdk.Start) error {
	for _, s := range starts {
		if s.Position < 0 || s.Position >= sdk.MaxPosition {
			return sdk.Errorf(sdk.KindFatal, "start "+s.Stream.String(), "%d is not a position", s.Position)
		}
	}
	if err := r.table.start(starts, r.histories(starts)); err != nil {
		return err
	}
	wake(r.lagWanted)
	return nil
}

// histories reads the starts' cursors. A stream without one that can be read
// starts all the same; only that its log was cut while nobody read it would not
// be noticed.
func (r *reader) histories(starts []sdk.Start) []history {
	out := make([]history, len(starts))
	for i, s := range starts {
		if s.Cursor == nil {
			continue
		}
		h, err := parseHistory(s.Cursor)
		if err != nil {
			r.log.Warn("starting without a cursor", "stream", s.Stream.String(), "position", s.Position, "error", err)
		}
		out[i] = h.below(s.Position)
	}
	return out
}

// Commit implements sdk.Reader.
func (r *reader) Commit(ctx context.Context, marks []sdk.Mark) []error { return r.commit(ctx, marks) }

// Drop implements sdk.Reader.
func (r *reader) Drop(ctx context.Context, runs []uint64) error { return r.table.drop(ctx, runs) }

// leaveTimeout bounds leaving the group when ctx leaves less time, or none:
// the others wait for a member that did not leave until its session ends.
const leaveTimeout = 2 * time.Second

// Close implements sdk.Reader. Nothing is reported and no commit is sent once
// it has returned.
func (r *reader) Close(ctx context.Context) error {
	r.closing.Do(func() {
		r.cancel()
		r.wg.Wait()
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		if err := r.client.LeaveGroupContext(leave); err != nil {
			r.log.Debug("leave group", "group", r.set.Group, "error", err)
		}
		r.client.Close()
	})
	return nil
}

// warn logs what may go on for long: once in ten seconds for each subject.
func (r *reader) warn(msg, subject string, args ...any) {
	leftOut, ok := r.sparse.now(msg + subject)
	if leftOut > 0 {
		args = append(args, "left_out", leftOut)
	}
	if ok {
		r.log.Warn(msg, args...)
	}
}

func (r *reader) wantMetadata()     { wake(r.metadataWanted) }
func (r *reader) wantAnnouncement() { wake(r.announceWanted) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
