package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/twg-io/twg/test/faults/verify"
)

// broker is what the run reads from.
type broker interface {
	addr() string
	close()
}

// fakeBroker is a process of this program.
type fakeBroker struct {
	cmd     *exec.Cmd
	address string
	wg      sync.WaitGroup
}

// startFake starts this program again as a broker. onCommit hears of every
// commit request, with the number of files that were visible at that moment.
// With a dsn, onHeld hears of what the raw table held then.
func startFake(dir string, partitions int32, files string, onCommit func(verify.Sample), dsn string, onHeld func(verify.Moment)) (*fakeBroker, error) {
	log, err := os.Create(filepath.Join(dir, "broker.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"broker", topicName, strconv.Itoa(int(partitions)), files}
	if dsn != "" {
		args = append(args, dsn)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = log
	// The broker must not outlive a harness that was killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	b := &fakeBroker{cmd: cmd}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	if !lines.Scan() {
		b.close()
		return nil, fmt.Errorf("start broker: it printed no address; see %s", log.Name())
	}
	b.address = lines.Text()
	b.wg.Go(func() { readCommits(lines, out, onCommit, onHeld) })
	return b, nil
}

func readCommits(lines *bufio.Scanner, rest io.Reader, onCommit func(verify.Sample), onHeld func(verify.Moment)) {
	for lines.Scan() {
		if m, ok := parseHeld(lines.Text()); ok {
			onHeld(m)
			continue
		}
		var partition int32
		var next int64
		var files int
		if n, _ := fmt.Sscanf(lines.Text(), "commit %d %d %d", &partition, &next, &files); n == 3 {
			onCommit(verify.Sample{Committed: map[int32]int64{partition: next}, Files: files})
		}
	}
	_, _ = io.Copy(io.Discard, rest)
}

func (b *fakeBroker) addr() string { return b.address }

func (b *fakeBroker) close() {
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	b.wg.Wait()
	_ = b.cmd.Wait()
}
