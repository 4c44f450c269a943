package wire

import "context"

// laneCap is how many requests may wait on one lane.
const laneCap = 1024

// lane does requests one after the other, away from the goroutine that
// receives them.
type lane chan func()

func newLane() lane { return make(lane, laneCap) }

func (l lane) do(f func()) error {
	select {
	case l <- f:
		return nil
	default:
		return violation("more than %d requests of one kind wait for their answers", laneCap)
	}
}

func (l lane) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-l:
			f()
		}
	}
}

// settle waits until everything before it is done, or ctx ends.
func (l lane) settle(ctx context.Context) {
	done := make(chan struct{})
	if l.do(func() { close(done) }) != nil {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
