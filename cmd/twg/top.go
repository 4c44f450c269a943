package main

import (
	"context"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/twg-io/twg/cmd/twg/top"
	"github.com/twg-io/twg/host/admin"
	"github.com/twg-io/twg/host/config"
)

type topCmd struct {
	Address string        `help:"Where the host answers, HOST:PORT or unix:PATH (default: as the file says, else 127.0.0.1:9464)." placeholder:"ADDR"`
	Every   time.Duration `help:"How often to look (default: 1s on a terminal, else 5s)." placeholder:"DURATION"`
	Once    bool          `help:"Print a line for each pipeline, and end."`
	File    string        `arg:"" optional:"" help:"Pipeline file of the host, whose admin block says where and with which token; - reads standard input."`
}

// defaultAdmin is where a host with an empty admin block answers.
const defaultAdmin = "127.0.0.1:9464"

// adminToken is the variable with the token where no file says it.
const adminToken = "TWG_ADMIN_TOKEN"

func (c *topCmd) Run(ctx context.Context, a *app) error {
	address, token, err := c.where(a)
	if err != nil {
		return err
	}
	client := top.NewClient(address, token)
	terminal := !c.Once && isTerminal(a.stdin) && isTerminal(a.stdout)
	switch {
	case c.Every < 0 || c.Every > 0 && c.Every < 100*time.Millisecond:
		return usageError("--every: write at least 100ms")
	case c.Once:
		c.Every = 0
	case c.Every == 0 && terminal:
		c.Every = time.Second
	case c.Every == 0:
		c.Every = lineEvery
	}
	if terminal {
		return top.Run(ctx, a.stdin, a.stdout, client, c.Every)
	}
	if err := top.Plain(ctx, a.stdout, client, c.Every); err != nil {
		return &exitError{exitEnvironment, err}
	}
	return nil
}

// where finds the address and the token. No plugin is started for that.
func (c *topCmd) where(a *app) (address, token string, err error) {
	address, token = defaultAdmin, os.Getenv(adminToken)
	if c.File != "" {
		if address, token, err = c.fromFile(a); err != nil {
			return "", "", err
		}
	}
	if c.Address != "" {
		address = c.Address
	}
	return address, token, nil
}

func (c *topCmd) fromFile(a *app) (address, token string, err error) {
	src, err := readPipelineFile(a, c.File)
	if err != nil {
		return "", "", err
	}
	conf, diags := config.Load(c.File, src, config.Env{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile})
	if diags.HasErrors() && !conf.Admin.Complete() { // what else is wrong concerns who runs the file
		if err := config.WriteText(a.stderr, diags); err != nil {
			return "", "", err
		}
		return "", "", &exitError{code: exitUsage}
	}
	if conf.Admin == nil {
		return "", "", usageError("%s has no admin block: a host that runs it answers nowhere. Write admin {} at its top, and start the host again", c.File)
	}
	return admin.Name(conf.Admin.Network, conf.Admin.Address), conf.Admin.Token, nil
}

func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}
