// Command cmd starts a server for tests, in the foreground:
//
//	go run ./test/services/cmd postgres
//	go run ./test/services/cmd kafka
//
// It prints one line, the DSN or the broker's address, when the server is
// ready, and ends it and removes its data on SIGINT, SIGTERM or when its
// standard input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// server is what was started.
type server struct {
	address string
	close   func() error
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	start, ok := starters[first(args)]
	if !ok {
		return errors.New("usage: go run ./test/services/cmd kafka|postgres")
	}
	s, err := start(ctx, args[1:])
	if err != nil {
		return err
	}
	fmt.Println(s.address)
	ended := make(chan struct{})
	go func() { // ends with the program at the latest
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	select {
	case <-ctx.Done():
	case <-ended:
	}
	return s.close()
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
