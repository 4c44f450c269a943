package wire

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// trip sends v through its message's bytes and back.
func trip[A any, B proto.Message](t *testing.T, v A, to func(A) B, from func(B) (A, error)) {
	t.Helper()
	m := to(v)
	bytes, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back := m.ProtoReflect().New().Interface().(B)
	if err := proto.Unmarshal(bytes, back); err != nil {
		t.Fatal(err)
	}
	got, err := from(back)
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%T:\n sent %+v\n got  %+v, %v", v, v, got, err)
	}
}

func sure[A, B any](f func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return f(a), nil }
}

func TestConversionsLoseNothing(t *testing.T) {
	epoch := sdk.Epoch{Number: 1 << 63, Token: [16]byte{15: 1}}
	var set coverage.Set
	set.AddHeld(coverage.Interval{From: 3, Next: 9})
	set.AddVoid(coverage.Void{Interval: coverage.Interval{From: 0, Next: 3}, Reason: coverage.Retention})
	trip(t, people, toStream, fromStream)
	trip(t, sdk.Stream{}, toStream, fromStream)
	trip(t, epoch, toEpoch, fromEpoch)
	trip(t, sdk.Span{Stream: people, From: 1, Next: sdk.MaxPosition, Run: 9, Epoch: epoch, CompressedBytes: 4, ExpandedBytes: 5}, toSpan, fromSpan)
	trip(t, sdk.Cursor{Stream: people, Position: 7, Token: []byte{0, 255}}, toCursor, fromCursor)
	trip(t, sdk.Limits{FrameRecords: 1, FrameBytes: 2, MaxRecordBytes: 3, ConnectWithin: 4 * time.Millisecond}, toLimits, sure(fromLimits))
	trip(t, sdk.Description{Name: "n", Version: "v", Kind: sdk.KindSource, Doc: "d", Schema: []sdk.Attribute{{Name: "a", Type: `["list","string"]`, Required: true, Default: "[]", Sensitive: true, Doc: "x"}}}, toDescription, fromDescription)
	trip(t, sdk.Capabilities{Position: sdk.PositionStore, Origin: sdk.OriginResumable}, toCapabilities, fromCapabilities)
	trip(t, sdk.Capabilities{Durable: true, Replayable: true, OffsetStore: true, Fencing: true, Idempotent: true, AppendOnly: true, Shapes: []sdk.Shape{sdk.ShapeRaw, sdk.ShapeTable},
		MaxBatchBytes: 7, HoldsUntilClose: true, Targets: []string{"directory"}, Topics: []string{"\xff"}, Shares: []string{"group"}, Renames: true,
		DurableFlush: true, CanonicalTargets: []string{"file:/x"}, Memory: sdk.Memory{Usual: 1, Extreme: 2, Frames: 3, Replay: 4}}, toCapabilities, fromCapabilities)
	for _, s := range []sdk.Severity{sdk.SeverityError, sdk.SeverityWarning} {
		trip(t, sdk.Diagnostic{Severity: s, Path: []string{"a", "0"}, Summary: "s", Detail: "d"}, toDiagnostic, sure(fromDiagnostic))
	}
	trip(t, sdk.Assignment{Stream: orders, Committed: sdk.NoPosition, CommittedIncarnation: "\xff", Initial: sdk.StartTimestamp, TimestampMS: -5, Marked: true}, toAssignment, fromAssignment)
	trip(t, sdk.Query{Stream: orders, At: sdk.StartLatest, TimestampMS: 3}, toQuery, fromQuery)
	trip(t, sdk.Resolved{Stream: orders, Position: 5}, toResolved, fromResolved)
	trip(t, sdk.Start{Stream: orders, Run: 4, Epoch: epoch, Position: 9, Cursor: []byte("c")}, toStart, fromStart)
	trip(t, sdk.Start{Stream: orders, KnownAs: people}, toStart, fromStart)
	trip(t, sdk.Mark{Stream: orders, Run: 4, Next: 9}, toMark, fromMark)
	for _, c := range []sdk.GapCause{sdk.GapOutOfRange, sdk.GapDiverged} {
		trip(t, sdk.Gap{Stream: orders, Run: 4, Wanted: 1, Available: 9, Cause: c, Reason: "r"}, toGap, fromGap)
	}
	trip(t, sdk.Lag{Stream: orders, Run: 4, End: 9, AtMS: 8}, toLag, fromLag)
	for _, p := range []sdk.Presence{sdk.TopicThere, sdk.TopicPending, sdk.TopicAbsent} {
		trip(t, sdk.Topic{Name: "\xff", Presence: p, Reason: "r"}, toTopic, sure(fromTopic))
	}
	trip(t, sdk.StreamCoverage{Stream: orders, Set: &set}, toStreamCoverage, fromStreamCoverage)
	trip(t, sdk.CoverageRecord{Stream: orders, Epoch: epoch, Held: set.Held(), Void: set.Voids()}, toCoverageRecord, fromCoverageRecord)
	trip(t, sdk.Acquired{Stream: orders, Epoch: epoch, Previous: "host 1"}, toAcquired, fromAcquired)
}

// What a plugin says of its memory is added up: no sum overflows, or shrinks.
func TestMemoryIsAnAmount(t *testing.T) {
	got := fromMemory(&twgpb.Memory{UsualBytes: -1, ExtremeBytes: math.MaxInt64, Frames: math.MaxInt64, ReplayBytes: 5})
	if want := (sdk.Memory{Extreme: mostMemory, Frames: mostFrames, Replay: 5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestErrorsKeepWhatTheyAre(t *testing.T) {
	for k := sdk.KindRetryable; k <= sdk.KindFenced; k++ {
		for s := sdk.ScopeRecord; s <= sdk.ScopePlugin; s++ {
			in := &sdk.Error{Op: "open log", Kind: k, Scope: s, Err: errors.New("cause \xff")}
			for _, got := range []error{fromError(toError(in)), fromStatus("call", toStatus(in))} {
				e, ok := errors.AsType[*sdk.Error](got)
				if !ok || e.Op != in.Op || e.Kind != k || e.Scope != s || e.Err.Error() != "cause \uFFFD" {
					t.Errorf("%v %v came as %#v", k, s, got)
				}
			}
		}
	}
	wrapped := errors.Join(errors.New("outer"), sdk.Errorf(sdk.KindFenced, "write", "stale"))
	if got := fromError(toError(wrapped)); sdk.KindOf(got) != sdk.KindFenced || got.Error() != wrapped.Error() {
		t.Errorf("a wrapped error came as %v, kind %v", got, sdk.KindOf(got))
	}
	if got := fromError(toError(errors.New("plain"))); sdk.KindOf(got) != sdk.KindRetryable {
		t.Errorf("a plain error came with kind %v", sdk.KindOf(got))
	}
	for _, unknown := range []twgpb.ErrorKind{0, 5, -1, 999} {
		if got := fromError(&twgpb.Error{Kind: unknown}); sdk.KindOf(got) != sdk.KindFatal {
			t.Errorf("unknown kind %d was taken for %v", unknown, sdk.KindOf(got))
		}
	}
	if e := fromError(&twgpb.Error{Kind: 1, Scope: 77}).(*sdk.Error); e.Scope != sdk.ScopeSession {
		t.Errorf("an unknown scope was taken for %v", e.Scope)
	}
	if err := fromStatus("call", toStatus(context.Canceled)); sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("a cancelled call: %v", err)
	}
}

func TestWhatIsImpossibleIsRefused(t *testing.T) {
	st := toStream(orders)
	refused := func(name string, err error) {
		t.Helper()
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v, want a protocol error", name, err)
		}
	}
	last := func(_ any, err error) error { return err }
	refused("no stream", last(fromSpan(&twgpb.Span{})))
	refused("short token", last(fromSpan(&twgpb.Span{Stream: st, Epoch: &twgpb.Epoch{Number: 1, Token: []byte("short")}})))
	refused("backward span", last(fromSpan(&twgpb.Span{Stream: st, From: 2, Next: 1})))
	refused("negative span", last(fromSpan(&twgpb.Span{Stream: st, From: -2, Next: 1})))
	refused("span past 2^48", last(fromSpan(&twgpb.Span{Stream: st, Next: sdk.MaxPosition + 1})))
	refused("unknown start", last(fromQuery(&twgpb.Query{Stream: st, At: 9})))
	refused("no start", last(fromAssignment(&twgpb.Assignment{Stream: st})))
	refused("committed -2", last(fromAssignment(&twgpb.Assignment{Stream: st, Committed: -2, Initial: 1})))
	refused("mark -1", last(fromMark(&twgpb.Mark{Stream: st, Next: -1})))
	refused("resolved -1", last(fromResolved(&twgpb.ResolvedPosition{Stream: st, Position: -1})))
	refused("unknown regime", last(fromCapabilities(&twgpb.Capabilities{Position: 9})))
	refused("unknown origin", last(fromCapabilities(&twgpb.Capabilities{Origin: 9})))
	refused("unknown plugin kind", last(fromDescription(&twgpb.DescribeResponse{})))
	refused("unknown shape", last(fromSinkBatch(&twgpb.SinkBatch{Shape: twgpb.Shape_SHAPE_TABLE})))
	refused("garbage frame", last(fromSinkBatch(&twgpb.SinkBatch{Payload: []byte("garbage")})))
	refused("ids without rows", last(fromSinkBatch(&twgpb.SinkBatch{Ids: make([]byte, 16)})))
	refused("rows out of range", last(fromRowRanges([]*twgpb.RowRange{{From: 0, To: 3}}, 2)))
	refused("rows that overlap", last(fromRowRanges([]*twgpb.RowRange{{From: 0, To: 2}, {From: 1, To: 3}}, 3)))
	refused("backward rows", last(fromRowRanges([]*twgpb.RowRange{{From: 2, To: 1}}, 3)))
	refused("coverage", last(fromStreamCoverage(&twgpb.StreamCoverage{Stream: st, Held: []*twgpb.Interval{{From: 5, Next: 1}}})))
	refused("void", last(fromCoverageRecord(&twgpb.CoverageRecord{Stream: st, Void: []*twgpb.VoidInterval{{From: -1, Next: 1}}})))
	refused("another mark", last(fromCommitted([]sdk.Mark{{Stream: orders, Next: 5}}, toCommitted(1, []sdk.Mark{{Stream: orders, Next: 6}}, nil))))
	refused("a mark too few", last(fromCommitted([]sdk.Mark{{Stream: orders, Next: 5}}, toCommitted(1, nil, nil))))
}

func TestRowsOfABatch(t *testing.T) {
	for _, rows := range [][]sdk.RowRange{nil, {}, {{From: 0, To: 2}}, {{From: 1, To: 2}, {From: 3, To: 5}}} {
		b := batchOf(t, orders, 0, 5, 10)
		b.Seq, b.Rows = 1, rows
		m := toSinkBatch(3, b)
		m.Payload = b.Frame.Bytes()
		got, err := fromSinkBatch(m)
		if err != nil || got.NumRows() != b.NumRows() {
			t.Errorf("rows %v: %v, %v", rows, got, err)
		}
	}
}
