package main

import (
	"context"
	"flag"
	"strings"

	"github.com/twg-io/twg/test/services/kafka"
	"github.com/twg-io/twg/test/services/postgres"
)

// starters declare their flags and return what starts the server once these
// are parsed.
var starters = map[string]func(*flag.FlagSet) func(context.Context) (server, error){
	"kafka":    kafkaStarter,
	"postgres": postgresStarter,
}

func kafkaStarter(fs *flag.FlagSet) func(context.Context) (server, error) {
	var cfg kafka.Config
	fs.StringVar(&cfg.Dir, "dir", "", "where data and logs lie; empty: a temporary directory")
	fs.IntVar(&cfg.Brokers, "brokers", 1, "how many brokers")
	fs.StringVar(&cfg.Heap, "heap", "", "a broker's heap, such as 512m")
	fs.BoolVar(&cfg.Fast, "fast", false, "for benchmarks: let the virtual machine compile fully")
	return func(ctx context.Context) (server, error) {
		c, err := kafka.Start(ctx, cfg)
		if err != nil {
			return server{}, err
		}
		return server{strings.Join(c.Addrs(), ","), c.Close}, nil
	}
}

func postgresStarter(fs *flag.FlagSet) func(context.Context) (server, error) {
	var cfg postgres.Config
	fs.StringVar(&cfg.Dir, "dir", "", "where data and log lie; empty: a temporary directory")
	return func(ctx context.Context) (server, error) {
		s, err := postgres.Start(ctx, cfg)
		if err != nil {
			return server{}, err
		}
		return server{s.DSN(""), s.Close}, nil
	}
}
