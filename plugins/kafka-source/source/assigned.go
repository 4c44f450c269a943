package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/twg-io/twg/sdk"
)

// This file is what takes the group's place where the settings name the
// partitions: no membership, no committed offsets. The position is the offset
// store's, and so is the fence against a second reader.

// allPartitions in the setting "partitions" takes whatever there is.
const allPartitions = "all"

// maxPartitions bounds what one setting may name.
const maxPartitions = 100_000

// picked is which partitions of each topic are to be read.
type picked struct {
	all  bool
	nums []int32
}

// storeManaged reports whether the settings name partitions instead of a
// group.
func (s *Settings) storeManaged() bool { return len(s.Partitions) > 0 }

// parsePicked reads the setting "partitions". A diagnostic names the element.
func parsePicked(list []string) (picked, sdk.Diagnostics) {
	var d sdk.Diagnostics
	var p picked
	seen := make(map[int32]bool)
	for i, text := range list {
		if text == allPartitions {
			p.all = true
			continue
		}
		from, to, why := parseRange(text)
		for n := from; why == "" && n <= to; n++ {
			if seen[n] {
				why = fmt.Sprintf("Partition %d stands there twice. Name each once.", n)
				break
			}
			seen[n] = true
			p.nums = append(p.nums, n)
		}
		if why != "" {
			d = append(d, diagnose([]string{"partitions", strconv.Itoa(i)}, "Not a partition or a range of them", why))
		}
	}
	if p.all && len(list) > 1 {
		d.Errorf("partitions", "All partitions, and some of them", `"all" stands alone. Remove it, or the others.`)
	}
	return p, d
}

func parseRange(text string) (from, to int32, why string) {
	const form = `Write a number ("7"), a range with both ends included ("0-3"), or "all".`
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	a, err1 := strconv.ParseUint(first, 10, 31)
	b, err2 := strconv.ParseUint(last, 10, 31)
	switch {
	case err1 != nil || err2 != nil:
		return 0, 0, form
	case b < a:
		return 0, 0, "The range ends before it begins. " + form
	case b >= maxPartitions:
		return 0, 0, fmt.Sprintf("The highest partition that can be named is %d.", maxPartitions-1)
	}
	return int32(a), int32(b), ""
}

// checkPosition finds out who keeps the position: exactly one must.
func (s *Settings) checkPosition() sdk.Diagnostics {
	var d sdk.Diagnostics
	switch {
	case s.Group == "" && !s.storeManaged():
		d.Errorf("group", "Neither a group nor partitions", "Set group, and its brokers keep the position and share out the partitions; or set partitions, and the sink keeps the position.")
	case s.Group != "" && s.storeManaged():
		d.Errorf("partitions", "Both a group and partitions", "With partitions the sink keeps the position, and no group is joined. Remove group or partitions.")
	}
	p, bad := parsePicked(s.Partitions)
	d = append(d, bad...)
	if p.all && s.Start == "latest" {
		d.Errorf("start", `Start "latest" with all partitions`, `Nobody would know after a restart which partitions were there at the first start, and records of one that was added since would be left out. Name the partitions, or set start to "earliest".`)
	}
	return d
}

// assignNamed takes the partitions that the settings name, whether or not they
// are there.
func (r *reader) assignNamed() {
	p, _ := parsePicked(r.set.Partitions) // checked at Configure
	parts := make(map[string][]int32, len(r.set.Topics))
	for _, t := range r.set.Topics {
		parts[t] = p.nums
	}
	r.picked = p
	r.table.assign(parts)
	r.wantAnnouncement()
}

// survey looks at fresh metadata: it tells the host what became of the topics,
// notes how many partitions a topic had when it was first asked for, and takes
// new ones if all are wanted. A topic that is only unknown at the moment (no
// leader, no answer) was not seen yet.
func (r *reader) survey(missing map[string]error) {
	r.tellTopics(missing)
	if !r.set.storeManaged() {
		return
	}
	now := r.cluster.current()
	found := make(map[string][]int32)
	r.announcing.Lock()
	for _, topic := range r.set.Topics {
		info, there := now[topic]
		if _, known := r.firstParts[topic]; !known && (there || errors.Is(missing[topic], kerr.UnknownTopicOrPartition)) {
			r.firstParts[topic] = len(info.leaders)
		}
		for n := range info.leaders {
			if r.picked.all {
				found[topic] = append(found[topic], n)
			}
		}
	}
	r.announcing.Unlock()
	if r.table.assign(found) {
		r.wantAnnouncement()
	}
}

// hasPartition reports whether p can be read: a group assigns only what is
// there, settings may name more.
func (r *reader) hasPartition(p partition) bool {
	if !r.set.storeManaged() || r.cluster.has(p) {
		return true
	}
	r.warn("the topic has no such partition, waiting for it", p.topic+strconv.Itoa(int(p.num)), "topic", p.topic, "partition", p.num)
	return false
}

// answerMarks answers Commits where a store keeps the position: there is
// nothing to be stored, but a mark of a run that has ended is refused as a
// group's would be, so that the host learns of it.
func (r *reader) answerMarks(marks []sdk.Mark, pending []int, errs []error) {
	for _, c := range r.table.admit(marks, pending, errs, func() {}) {
		r.table.noteCommitted(c.mark)
	}
}
