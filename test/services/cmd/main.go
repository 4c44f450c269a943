// Command cmd starts a server for tests, in the foreground:
//
//	go run ./test/services/cmd postgres
//	go run ./test/services/cmd kafka
//	go run ./test/services/cmd fetch
//
// The last only lets mvn fetch what a broker consists of, and prints where.
// The others print one line, the DSN or the brokers' addresses, when the server is
// ready, and ends it and removes its data on SIGINT or SIGTERM, with -stdin
// also when its standard input ends. A script that sends signals should build
// the program first: go run does not pass SIGTERM on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/twg-io/twg/test/services/kafka"
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
	if len(args) == 1 && args[0] == "fetch" {
		dir, err := kafka.Artifacts(ctx)
		fmt.Println(dir)
		return err
	}
	if len(args) == 0 || starters[args[0]] == nil {
		return errors.New("usage: go run ./test/services/cmd kafka|postgres|fetch [-stdin] [-h]")
	}
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	stdin := fs.Bool("stdin", false, "end when the standard input ends")
	start := starters[args[0]](fs)
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	s, err := start(ctx)
	if err != nil {
		return err
	}
	fmt.Println(s.address)
	if *stdin {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		go func() { // ends with the program at the latest
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	<-ctx.Done()
	return s.close()
}
