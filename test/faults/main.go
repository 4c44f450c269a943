// Command faults kills twg's processes at seeded moments, while records flow,
// and checks that nothing was lost, doubled or committed too early. See
// docs/faults.md.
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

	"github.com/twg-io/twg/test/faults/schedule"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "broker" {
		if err := brokerMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command runs the harness and returns its exit code: 0 when all is well (a
// mutant: when it was caught), 1 when not, 2 for wrong usage.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	if opt.printSchedule {
		kills := schedule.Make(opt.seed, opt.kills, opt.points())
		_ = schedule.Print(stdout, kills)
		fmt.Fprintf(stdout, "schedule %s\n", schedule.Hash(kills))
		return 0
	}
	code := 0
	for _, one := range opt.each() {
		good, err := single(ctx, one, stdout)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		if !good {
			code = 1
		}
	}
	return code
}

// single is one run with its report. good is what the run should show: no
// fault found, or, with a mutant, one found.
func single(ctx context.Context, opt options, stdout io.Writer) (good bool, err error) {
	r, v, err := runOnce(ctx, opt, stdout)
	if err != nil {
		return false, err
	}
	r.report(stdout, v)
	good = v.ok()
	if opt.mutant != "" {
		good = v.caught()
		word := "caught"
		if !good {
			word = "NOT caught"
		}
		fmt.Fprintf(stdout, "mutant %s %s\n", opt.mutant, word)
	}
	fmt.Fprintln(stdout, v.lastLine(r.tally.kills, opt.seed))
	return good, nil
}
