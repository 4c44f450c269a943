package plugins

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// newHclog gives go-plugin a logger that ends in the host's. What a plugin
// logged keeps its level; what go-plugin itself has to say is for debugging.
func newHclog(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Debug, Output: io.Discard})
	l.RegisterSink(slogSink{to})
	return l
}

type slogSink struct{ to *slog.Logger }

// Accept implements hclog.SinkAdapter. A name marks a plugin's own line.
func (s slogSink) Accept(name string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	if name != "" && name != "stdio" {
		to = levels[level]
	}
	s.to.Log(context.Background(), to, msg, withoutTime(args)...)
}

// withoutTime drops what a plugin's line says about when it was written: the
// host's own line says that too.
func withoutTime(args []any) []any {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "timestamp" {
			return slices.Delete(slices.Clone(args), i, i+2)
		}
	}
	return args
}

var levels = map[hclog.Level]slog.Level{
	hclog.Trace: slog.LevelDebug, hclog.Debug: slog.LevelDebug, hclog.Info: slog.LevelInfo,
	hclog.Warn: slog.LevelWarn, hclog.Error: slog.LevelError,
}
