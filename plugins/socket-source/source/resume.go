package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twg-io/twg/sdk"
)

// resume asks the peer to go on where the run is, and sends what it says under
// that run. A new run needs a new connection.
func (p *peer) resume(ctx context.Context) error {
	r, err := p.reader.stream.current(ctx)
	if err != nil {
		return nil
	}
	whole := ctx // of the connection: a gap ends the run first, and is told all the same
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(r.ctx, func() { cancel(); p.conn.Close() })
	defer stop()
	a, err := p.ask(ctx, r)
	if err != nil || ctx.Err() != nil {
		return unlessOver(ctx, err)
	}
	if a.position != r.next {
		return p.gap(whole, r, a.position)
	}
	if a.acks {
		p.wg.Go(func() { p.acknowledge(ctx, r) })
	}
	return unlessOver(ctx, p.goOn(ctx, r))
}

// unlessOver: what ends a connection whose run has ended is no news.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ask sends RESUME and reads the answer.
func (p *peer) ask(ctx context.Context, r *run) (answer, error) {
	deadline := time.Now().Add(p.set.HandshakeTimeout)
	if err := p.conn.SetWriteDeadline(deadline); err != nil {
		return answer{}, err
	}
	if _, err := p.conn.Write([]byte(resumeLine(p.set.Stream, r.next))); err != nil {
		return answer{}, fmt.Errorf("send RESUME: %w", err)
	}
	p.buf = make([]byte, readBytes)
	for {
		end := bytes.IndexByte(p.buf[:p.hi], '\n')
		if end > maxAnswer || end < 0 && p.hi > maxAnswer {
			return answer{}, errors.New("the peer did not answer RESUME with a line")
		}
		if end >= 0 {
			p.lo = end + 1
			return parseAnswer(string(p.buf[:end]))
		}
		if err := p.read(deadline); err != nil {
			return answer{}, fmt.Errorf("read the answer to RESUME: %w", err)
		}
	}
}

// gap says that the peer does not have the record that is wanted. The run waits
// for the host.
func (p *peer) gap(ctx context.Context, r *run, available int64) error {
	id := p.reader.stream.id
	if err := p.reader.stream.finish(ctx, r); err != nil {
		return nil
	}
	p.events.Gap(sdk.Gap{Stream: id, Run: r.id, Wanted: r.next, Available: available, Cause: sdk.GapOutOfRange,
		Reason: fmt.Sprintf("the peer %s answered RESUME with position %d", p.conn.RemoteAddr(), available)})
	return nil
}

// goOn sends what comes, under the run.
func (p *peer) goOn(ctx context.Context, r *run) error {
	for {
		records, err := p.gather(ctx)
		if len(records) > 0 {
			switch err := p.deliverUnder(ctx, r, records); {
			case errors.Is(err, errRunOver):
				return nil // the peer sends them again
			case err != nil:
				p.fail(err)
				return nil
			}
		}
		if err != nil {
			return p.ended(err)
		}
	}
}

// How often a peer is told what is durable, and how long it may take to read
// that.
const (
	ackPause   = 200 * time.Millisecond
	ackTimeout = 10 * time.Second
)

// acknowledge tells the peer what is durable, until ctx ends. A peer that does
// not read what it has asked for is cut off.
func (p *peer) acknowledge(ctx context.Context, r *run) {
	s := p.reader.stream
	for told := r.durableAt(s); ; {
		var next int64
		if s.wait(ctx, func() bool { next = r.durable; return next > told }) != nil {
			return
		}
		p.conn.SetWriteDeadline(time.Now().Add(ackTimeout)) // if it fails, so does the write
		if _, err := p.conn.Write([]byte(durableLine(next))); err != nil {
			if ctx.Err() == nil {
				p.warn("a peer does not read what is durable", "peer", p.conn.RemoteAddr().String(), "error", err)
			}
			p.conn.Close()
			return
		}
		told = next
		t := time.NewTimer(ackPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

func (r *run) durableAt(s *stream) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.durable
}
