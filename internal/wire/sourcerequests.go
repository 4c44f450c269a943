package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
)

// request puts what the host asks for on its lane.
func (r *sourceRun) request(m *twgpb.SourceCommand) error {
	select {
	case <-r.opened:
	default:
		return violation("a command before Opened")
	}
	switch c := m.Msg.(type) {
	case *twgpb.SourceCommand_Start:
		return r.start(c.Start)
	case *twgpb.SourceCommand_Commit:
		return r.commit(c.Commit)
	case *twgpb.SourceCommand_Drop:
		return r.drop(c.Drop)
	case *twgpb.SourceCommand_Resolve:
		return r.resolve(c.Resolve)
	}
	return violation("a command of a kind that was not agreed on")
}

func (r *sourceRun) start(m *twgpb.Start) error {
	starts, err := eachErr(m.GetRuns(), fromStart)
	if err != nil {
		return err
	}
	return r.control.do(func() {
		err := r.reader.Start(r.ctx, starts)
		r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Started{Started: &twgpb.Started{Request: m.Request, Error: toError(err)}}})
	})
}

func (r *sourceRun) commit(m *twgpb.Commit) error {
	marks, err := eachErr(m.GetMarks(), fromMark)
	if err != nil {
		return err
	}
	return r.commits.do(func() {
		errs := r.reader.Commit(r.ctx, marks)
		r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Committed{Committed: toCommitted(m.Request, marks, errs)}})
	})
}

func (r *sourceRun) drop(m *twgpb.Drop) error {
	return r.control.do(func() {
		err := r.reader.Drop(r.ctx, m.GetRuns())
		r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Dropped{Dropped: &twgpb.Dropped{Request: m.GetRequest(), Error: toError(err)}}})
		r.revoke.dropped(m.GetRuns())
	})
}

func (r *sourceRun) resolve(m *twgpb.Resolve) error {
	queries, err := eachErr(m.GetQueries(), fromQuery)
	if err != nil {
		return err
	}
	return r.resolves.do(func() {
		res, err := r.reader.Resolve(r.ctx, queries)
		r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Resolved{Resolved: &twgpb.Resolved{Request: m.Request,
			Positions: each(res, toResolved), Error: toError(err)}}})
	})
}
