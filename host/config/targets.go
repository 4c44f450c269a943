package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/twg-io/twg/sdk"
)

// sharedTarget is a target that both write to, as people know it; empty: none
// is known.
func sharedTarget(a, b *sdk.Capabilities) string {
	if a == nil || b == nil {
		return ""
	}
	if len(a.CanonicalTargets) > 0 && len(b.CanonicalTargets) > 0 {
		i := slices.IndexFunc(a.CanonicalTargets, func(t string) bool { return slices.Contains(b.CanonicalTargets, t) })
		if i < 0 {
			return ""
		}
		return spelled(a, b, a.CanonicalTargets[i])
	}
	for _, t := range a.Targets {
		if slices.ContainsFunc(b.Targets, func(o string) bool { return cleanTarget(o) == cleanTarget(t) }) {
			return t
		}
	}
	return ""
}

// spelled is a target in the words of the file, and, where they spell it
// differently, in the one that says that it is the same.
func spelled(a, b *sdk.Capabilities, canonical string) string {
	if len(a.Targets) == 1 && slices.Equal(a.Targets, b.Targets) {
		return a.Targets[0]
	}
	if len(a.Targets) == 1 && len(b.Targets) == 1 {
		return fmt.Sprintf("%s (they call it %q and %q)", canonical, b.Targets[0], a.Targets[0])
	}
	return canonical
}

// sameTargets: both write to the same place, and to no other.
func sameTargets(a, b *sdk.Capabilities) bool {
	if len(a.CanonicalTargets) == 0 || len(b.CanonicalTargets) == 0 {
		return slices.Equal(a.Targets, b.Targets)
	}
	return slices.Equal(slices.Sorted(slices.Values(a.CanonicalTargets)), slices.Sorted(slices.Values(b.CanonicalTargets)))
}

// cleanTarget takes detours out of a path.
func cleanTarget(target string) string {
	for _, kind := range []string{"directory ", "file "} {
		if path, ok := strings.CutPrefix(target, kind); ok {
			return kind + filepath.Clean(path)
		}
	}
	return target
}
