package plugins

import (
	"os"
	"strings"
)

// passed are the variables of the host that a plugin gets: where programs,
// temporary files and certificates are, and how to write for people. Nothing
// else: a pipeline file's env() is the way to give a plugin a secret.
var (
	passed         = []string{"PATH", "HOME", "TMPDIR", "TZ", "LANG"}
	passedPrefixes = []string{"LC_", "SSL_CERT_"}
)

// environment is what a plugin's process starts with.
func environment() []string {
	out := []string{}
	for _, kv := range os.Environ() {
		if name, _, ok := strings.Cut(kv, "="); ok && passes(name) {
			out = append(out, kv)
		}
	}
	return out
}

func passes(name string) bool {
	for _, p := range passed {
		if name == p {
			return true
		}
	}
	for _, p := range passedPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
