package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/twg-io/twg/sdk"
)

// streamPattern makes a filter of streams. The pattern is held against the
// topic and against topic/partition; a topic may hold slashes, so * stands for
// them too. Empty: all streams.
func streamPattern(pattern string) func(sdk.Stream) bool {
	if pattern == "" {
		return func(sdk.Stream) bool { return true }
	}
	expr := regexp.QuoteMeta(pattern)
	expr = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(expr)
	re := regexp.MustCompile("(?s)^(?:" + expr + ")$")
	return func(s sdk.Stream) bool {
		return re.MatchString(s.Topic) || re.MatchString(s.Topic+"/"+strconv.Itoa(int(s.Partition)))
	}
}
