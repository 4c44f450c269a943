package produce

import "github.com/twg-io/twg/test/faults/verify"

// Err is what has gone wrong so far.
func (p *Producer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Real returns the records that are known to stand in the topic for good.
// It may lack the newest.
func (p *Producer) Real() []verify.Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]verify.Place(nil), p.real...)
}

// Unsure counts the records of transactions of which it is not known whether
// they were committed: the broker went away when they were.
func (p *Producer) Unsure() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unsure
}

// Counts says how many records stand, were aborted, and are large.
func (p *Producer) Counts() (real, aborted, large int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.real), p.aborted, p.large
}
