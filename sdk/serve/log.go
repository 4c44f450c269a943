package serve

import (
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// newLogger writes lines that the host's side of go-plugin takes apart again,
// so that a plugin's levels and attributes arrive there.
func newLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: hclogNames}))
}

func hclogNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.String("@timestamp", a.Value.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
	case slog.LevelKey:
		return slog.String("@level", strings.ToLower(a.Value.String()))
	case slog.MessageKey:
		return slog.Attr{Key: "@message", Value: a.Value}
	}
	return a
}

// newPluginLogger is for go-plugin itself, which has little to say that is
// not said better elsewhere.
func newPluginLogger(w io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: w, JSONFormat: true})
}
