package main

import (
	"context"
	"errors"
	"flag"

	"github.com/twg-io/twg/test/services/postgres"
)

var starters = map[string]func(context.Context, []string) (server, error){
	"postgres": startPostgres,
}

func startPostgres(ctx context.Context, args []string) (server, error) {
	fs := flag.NewFlagSet("postgres", flag.ContinueOnError)
	dir := fs.String("dir", "", "where data and log lie; empty: a temporary directory")
	if err := noMore(fs, args); err != nil {
		return server{}, err
	}
	s, err := postgres.Start(ctx, postgres.Config{Dir: *dir})
	if err != nil {
		return server{}, err
	}
	return server{s.DSN(""), s.Close}, nil
}

func noMore(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return errors.New("unexpected argument " + fs.Arg(0))
	}
	return nil
}
