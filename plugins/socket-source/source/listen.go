package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/twg-io/twg/sdk"
)

// serve listens, announces the stream and takes peers until ctx ends.
func (r *reader) serve(ctx context.Context) {
	l, err := r.listen(ctx)
	if err != nil {
		r.fail(err)
		return
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	r.stream.set(func() { r.stream.assigned = true })
	err = r.events.Assigned(ctx, []sdk.Assignment{{Stream: r.stream.id, Committed: sdk.NoPosition, Initial: sdk.StartEarliest}})
	if err == nil {
		err = r.accept(ctx, l)
	}
	if err != nil {
		r.fail(fmt.Errorf("accept at %s: %w", r.set.Listen, err))
	}
}

// again is how long to wait before the address is tried again.
const again = 100 * time.Millisecond

// listen gets the address. Another process of this plugin may still have it for
// a moment.
func (r *reader) listen(ctx context.Context) (net.Listener, error) {
	deadline := time.Now().Add(r.set.ListenTimeout)
	for {
		l, err := r.tryListen(ctx)
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		if time.Now().After(deadline) {
			return nil, sdk.Errorf(sdk.KindRetryable, "listen at "+r.set.Listen, "%w", err)
		}
		t := time.NewTimer(again)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

func (r *reader) tryListen(ctx context.Context) (net.Listener, error) {
	network, address := r.set.address()
	if network == "tcp" {
		return (&net.ListenConfig{}).Listen(ctx, network, address)
	}
	removeStale(address)
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	mode, _ := strconv.ParseUint(r.set.UnixMode, 8, 32) // it was checked
	if err := os.Chmod(address, os.FileMode(mode)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// removeStale removes a socket that a process left that was killed: one that
// nobody listens at.
func removeStale(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
}

// accept takes peers. Without resume no more are accepted than there are seats:
// the others wait at the operating system.
func (r *reader) accept(ctx context.Context, l net.Listener) error {
	for {
		if !r.set.Resume {
			select {
			case r.seats <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
		}
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ECONNABORTED):
			r.warn("a peer was not accepted", "error", err)
			if !r.set.Resume {
				<-r.seats
			}
			continue
		case err != nil:
			return err
		}
		r.wg.Go(func() { r.attend(ctx, c) })
	}
}

// attend serves one peer and closes its connection.
func (r *reader) attend(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	defer c.Close()
	from := c.RemoteAddr().String()
	err := r.talk(ctx, cancel, c)
	if !r.set.Resume {
		<-r.seats
	}
	if err != nil && ctx.Err() == nil {
		r.warn("a peer's connection is closed", "peer", from, "error", err)
	}
}

// talk secures the connection and reads from it.
func (r *reader) talk(ctx context.Context, cancel context.CancelFunc, c net.Conn) error {
	if r.tls != nil {
		secured := tls.Server(c, r.tls)
		hello, stop := context.WithTimeout(ctx, r.set.HandshakeTimeout)
		defer stop()
		if err := secured.HandshakeContext(hello); err != nil {
			return fmt.Errorf("TLS: %w", err)
		}
		c = secured
	}
	p := newPeer(r, c)
	if !r.set.Resume {
		return p.stream(ctx)
	}
	defer r.speaker.replace(cancel)()
	return p.resume(ctx)
}
