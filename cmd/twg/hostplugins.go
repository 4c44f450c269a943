package main

import (
	"errors"
	"log/slog"
)

func newLauncher(dir string, log *slog.Logger) (launcher, error) {
	return nil, errors.New("not wired yet")
}
