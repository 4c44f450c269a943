package wire

import (
	"context"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func (s *sourceSession) Resolve(ctx context.Context, queries []sdk.Query) ([]sdk.Resolved, error) {
	m, err := s.call(ctx, func(n uint64) *twgpb.SourceCommand {
		return &twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Resolve{Resolve: &twgpb.Resolve{Request: n, Queries: each(queries, toQuery)}}}
	})
	if err != nil {
		return nil, err
	}
	r := m.GetResolved()
	if r == nil {
		return nil, s.mismatch("Resolve")
	}
	if r.Error != nil {
		return nil, fromError(r.Error)
	}
	return eachErr(r.Positions, fromResolved)
}

func (s *sourceSession) Start(ctx context.Context, starts []sdk.Start) error {
	m, err := s.call(ctx, func(n uint64) *twgpb.SourceCommand {
		return &twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Start{Start: &twgpb.Start{Request: n, Runs: each(starts, toStart)}}}
	})
	if err != nil {
		return err
	}
	r := m.GetStarted()
	if r == nil {
		return s.mismatch("Start")
	}
	return fromError(r.Error)
}

// Commit gives every mark the same error if the source did not answer.
func (s *sourceSession) Commit(ctx context.Context, marks []sdk.Mark) []error {
	m, err := s.call(ctx, func(n uint64) *twgpb.SourceCommand {
		return &twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Commit{Commit: &twgpb.Commit{Request: n, Marks: each(marks, toMark)}}}
	})
	if err != nil {
		return allMarks(marks, err)
	}
	r := m.GetCommitted()
	if r == nil {
		return allMarks(marks, s.mismatch("Commit"))
	}
	errs, err := fromCommitted(marks, r)
	if err != nil {
		s.cancel(err)
		return allMarks(marks, err)
	}
	return errs
}

func allMarks(marks []sdk.Mark, err error) []error {
	return each(marks, func(sdk.Mark) error { return err })
}

func (s *sourceSession) Drop(ctx context.Context, runs []uint64) error {
	s.revoke.dropped(runs)
	m, err := s.call(ctx, func(n uint64) *twgpb.SourceCommand {
		return &twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Drop{Drop: &twgpb.Drop{Request: n, Runs: runs}}}
	})
	if err != nil {
		return err
	}
	r := m.GetDropped()
	if r == nil {
		return s.mismatch("Drop")
	}
	return fromError(r.Error)
}

// mismatch ends the session: the answer is of another kind than the request.
func (s *sourceSession) mismatch(request string) error {
	err := violation("a %s was answered with something else", request)
	s.cancel(err)
	return err
}
