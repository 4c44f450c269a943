package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// toError carries op, kind and scope over the boundary; only the text of the
// causes goes with them. nil stays nil.
func toError(err error) *twgpb.Error {
	if err == nil {
		return nil
	}
	out := &twgpb.Error{Kind: twgpb.ErrorKind(sdk.KindOf(err)), Scope: twgpb.ErrorScope_ERROR_SCOPE_SESSION, Message: text(err.Error())}
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return out
	}
	if e.Scope != 0 {
		out.Scope = twgpb.ErrorScope(e.Scope)
	}
	if error(e) == err {
		out.Op, out.Message = text(e.Op), text(e.Err.Error())
	}
	return out
}

func fromError(e *twgpb.Error) error {
	if e == nil {
		return nil
	}
	out := &sdk.Error{Op: e.Op, Kind: sdk.Kind(e.Kind), Scope: sdk.Scope(e.Scope), Err: errors.New(e.Message)}
	if e.Kind < twgpb.ErrorKind_ERROR_KIND_RETRYABLE || e.Kind > twgpb.ErrorKind_ERROR_KIND_FENCED {
		out.Kind = sdk.KindFatal
	}
	if e.Scope < twgpb.ErrorScope_ERROR_SCOPE_RECORD || e.Scope > twgpb.ErrorScope_ERROR_SCOPE_PLUGIN {
		out.Scope = sdk.ScopeSession
	}
	return out
}

// toStatus makes the error of a unary call, or of a stream's end.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	s := status.New(codes.Aborted, text(err.Error()))
	if d, derr := s.WithDetails(toError(err)); derr == nil {
		s = d
	}
	return s.Err()
}

// fromStatus undoes toStatus. An error that carries no sdk.Error comes from
// the transport: the connection or the process is gone.
func fromStatus(op string, err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	for _, d := range s.Details() {
		if e, ok := d.(*twgpb.Error); ok {
			return fromError(e)
		}
	}
	return &sdk.Error{Op: op, Kind: transportKind(s.Code()), Scope: sdk.ScopeSession, Err: transportCause(err, s)}
}

func transportKind(c codes.Code) sdk.Kind {
	if c == codes.Unimplemented {
		return sdk.KindFatal
	}
	return sdk.KindRetryable
}

// ErrConnection is in the chain of errors that say that the connection is
// gone, most often because the process is.
var ErrConnection = errors.New("the connection to the plugin is gone")

func transportCause(err error, s *status.Status) error {
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the stream has ended", ErrConnection)
	case s.Code() == codes.Canceled:
		return context.Canceled
	case s.Code() == codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case s.Code() == codes.Unavailable:
		return fmt.Errorf("%w: %s", ErrConnection, s.Message())
	}
	return errors.New(s.Message())
}
