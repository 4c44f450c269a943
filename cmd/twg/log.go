package main

import (
	"io"
	"log/slog"

	"github.com/twg-io/twg/host/config"
)

// newLogger logs to w, without secrets.
func (c *cli) newLogger(w io.Writer, secrets *config.Secrets) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // the grammar lets only levels through
	}
	options := &slog.HandlerOptions{Level: level}
	w = hidingWriter{w, secrets}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// hidingWriter hides secrets; each Write is one log line.
type hidingWriter struct {
	w       io.Writer
	secrets *config.Secrets
}

func (h hidingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(h.w, h.secrets.Hide(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
