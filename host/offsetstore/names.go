package offsetstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// A stream is kept in the store under the name that its source gives it, but
// for two cases. A stream that was read while its broker knew no incarnations
// keeps the empty one when the broker names it: ids and coverage stay what they
// are. And a stream whose log was cut and filled anew goes on under an
// incarnation with a suffix: positions from the cut on are other records now.

// aliasAt is a position that no log reaches. That it is void says, of a stream
// without an incarnation, that it was given one, and of a stream with one, that
// it is kept without.
const aliasAt = sdk.MaxPosition - 2

// AliasVoid is what is recorded of both names of a stream, in one step.
func AliasVoid() coverage.Void {
	return coverage.Void{Interval: coverage.Interval{From: aliasAt, Next: aliasAt + 1}, Reason: coverage.BeforeStart}
}

func isAlias(set *coverage.Set) bool { return set != nil && set.Covers(AliasVoid().Interval) }

func isKnown(set *coverage.Set) bool { return set != nil && set.End() > 0 }

// cutMark stands between an incarnation and the number of its cuts.
const cutMark = "~"

// split takes an incarnation apart: "x~2" is x, cut twice.
func split(incarnation string) (base string, cuts int) {
	at := strings.LastIndex(incarnation, cutMark)
	if at < 0 {
		return incarnation, 0
	}
	n, err := strconv.Atoi(incarnation[at+1:])
	if err != nil || n < 1 {
		return incarnation, 0
	}
	return incarnation[:at], n
}

// Successor is the name under which s goes on after its log was cut and filled
// anew.
func Successor(s sdk.Stream) sdk.Stream {
	base, n := split(s.Incarnation)
	s.Incarnation = base + cutMark + strconv.Itoa(n+1)
	return s
}

func unnamed(s sdk.Stream) sdk.Stream {
	s.Incarnation = ""
	return s
}

// Name is how the store calls an assigned stream.
type Name struct {
	sdk.Stream
	// Alias: AliasVoid is to be recorded of this stream and of the assigned one
	// before Start.
	Alias bool
}

// Lookup reads coverage. A stream that is not in the answer has none.
type Lookup func([]sdk.Stream) (map[sdk.Stream]*coverage.Set, error)

// maxCuts bounds the names that are tried.
const maxCuts = 10_000

// Names finds the names of assigned streams. look is nil where the sink keeps
// no coverage: then only what was committed tells of cuts.
func Names(as []sdk.Assignment, look Lookup) ([]Name, error) {
	out := make([]Name, len(as))
	for i, a := range as {
		out[i].Stream = a.Stream
		if base, n := split(a.CommittedIncarnation); look == nil && n > 0 && base == a.Stream.Incarnation {
			out[i].Incarnation = a.CommittedIncarnation
		}
	}
	if look == nil {
		return out, nil
	}
	if err := findAliases(out, look); err != nil {
		return nil, err
	}
	return out, followCuts(out, look)
}

func findAliases(names []Name, look Lookup) error {
	var ask []sdk.Stream
	for _, n := range names {
		if n.Incarnation != "" {
			ask = append(ask, n.Stream, unnamed(n.Stream))
		}
	}
	if ask == nil {
		return nil
	}
	known, err := look(ask)
	if err != nil {
		return err
	}
	for i := range names {
		n := &names[i]
		own, bare := known[n.Stream], known[unnamed(n.Stream)]
		switch {
		case n.Incarnation == "":
		case isAlias(own):
			n.Stream = unnamed(n.Stream)
		case !isKnown(own) && isKnown(bare) && !isAlias(bare):
			n.Stream, n.Alias = unnamed(n.Stream), true
		}
	}
	return nil
}

// followCuts moves names on as long as the store knows a successor.
func followCuts(names []Name, look Lookup) error {
	left := make([]*Name, len(names))
	for i := range names {
		left[i] = &names[i]
	}
	for range maxCuts {
		ask := make([]sdk.Stream, len(left))
		for i, n := range left {
			ask[i] = Successor(n.Stream)
		}
		known, err := look(ask)
		if err != nil {
			return err
		}
		var more []*Name
		for i, n := range left {
			if isKnown(known[ask[i]]) {
				n.Stream = ask[i]
				more = append(more, n)
			}
		}
		if left = more; left == nil {
			return nil
		}
	}
	return fmt.Errorf("%s was cut more than %d times", left[0].Stream, maxCuts)
}
