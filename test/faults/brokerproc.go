package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/twg-io/twg/test/faults/tap"
)

// broker is what the run reads from, behind a tap.
type broker interface {
	addr() string
	close()
}

// fakeBroker is a process of this program.
type fakeBroker struct {
	cmd *exec.Cmd
	tap *tap.Tap
}

// startFake starts this program again as a broker, and brings the tap before
// it.
func startFake(dir string, partitions int32, t *tap.Tap) (*fakeBroker, error) {
	log, err := os.Create(filepath.Join(dir, "broker.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(os.Args[0], "broker", topicName, strconv.Itoa(int(partitions)), t.Addr())
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
	b := &fakeBroker{cmd, t}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		b.close()
		return nil, fmt.Errorf("start broker: it printed no address; see %s", log.Name())
	}
	t.To(lines.Text())
	return b, nil
}

func (b *fakeBroker) addr() string { return b.tap.Addr() }

func (b *fakeBroker) close() {
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	_ = b.cmd.Wait()
	b.tap.Close()
}
