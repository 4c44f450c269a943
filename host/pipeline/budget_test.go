package pipeline

import "testing"

// INV5: a sink is away while records trickle in, one in a frame. What the host
// keeps beside the frames counts, so that their number is bounded too.
func TestSmallFramesFillTheBudget(t *testing.T) {
	b := budget{limit: 64 << 20}
	const frame = 400
	n := int64(0)
	for {
		b.credit += b.grantable()
		if b.credit <= 0 {
			break
		}
		if !b.received(frame) {
			t.Fatal("received without credit")
		}
		n++
	}
	if held := n * cost(frame); held < b.limit || held > b.limit*3/2+b.ahead()*cost(frame)/frame {
		t.Errorf("%d frames take %d of a budget of %d", n, held, b.limit)
	}
	if most := b.limit * 2 / cost(frame); n > most {
		t.Errorf("%d frames were let in, want at most %d", n, most)
	}
	for range n {
		b.released(frame)
	}
	if b.used != 0 || b.frames != 0 {
		t.Errorf("%d used, %d of frames after all were released", b.used, b.frames)
	}
}

// One frame that is larger than the budget goes through, alone.
func TestALargeFrameOverdraws(t *testing.T) {
	b := budget{limit: 1000}
	b.credit += b.grantable()
	if !b.received(5000) || b.grantable() != 0 {
		t.Fatalf("%+v", b)
	}
	b.released(5000)
	b.credit += b.grantable()
	if b.credit != 1000 {
		t.Errorf("credit %d after it was released, want 1000", b.credit)
	}
}
