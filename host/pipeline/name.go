package pipeline

import (
	"context"

	"github.com/twg-io/twg/host/offsetstore"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// findNames finds out how the store calls the streams. That may be done before
// their epochs are acquired: whoever else names one finds the same.
func (s *starter) findNames(ctx context.Context) (err error) {
	if !s.p.cfg.SourceCaps.Renames {
		s.names = make([]offsetstore.Name, len(s.as))
		for i, a := range s.as {
			s.names[i].Stream = a.Stream
		}
		return nil
	}
	var look offsetstore.Lookup
	if s.p.store != nil {
		look = func(streams []sdk.Stream) (map[sdk.Stream]*coverage.Set, error) { return s.p.lookUp(ctx, streams) }
	}
	if s.names, err = offsetstore.Names(s.as, look); err != nil {
		return err
	}
	for i := range s.names {
		switch {
		case s.cutAs[i] != (sdk.Stream{}):
			s.names[i] = offsetstore.Name{Stream: s.cutAs[i]}
		case look == nil && s.keys[i] != s.as[i].Stream: // what the assignment says is older
			s.names[i].Stream = s.keys[i]
		}
	}
	return nil
}
