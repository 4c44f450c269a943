package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// hosts starts twg run: one process after another in each of one or more
// places. All read with one group and write to one place.
type hosts struct {
	bin, file, socket string
	log               *os.File
	dsn               string   // the sink's database, if it has one
	roles             []string // of the places, where they differ

	mu     sync.Mutex
	places []*hostProcess // the process that was started last in each
	chosen int
	starts int
}

// raceLog begins the names of the race detector's reports on the host. Those
// on plugins are in the host's log.
const raceLog = "race"

func newHosts(bin, dir, file, socket string, places int) (*hosts, error) {
	log, err := os.Create(filepath.Join(dir, "host.log"))
	if err != nil {
		return nil, err
	}
	return &hosts{bin: bin, file: file, socket: socket, log: log, places: make([]*hostProcess, places)}, nil
}

// startAll starts a process in every place.
func (h *hosts) startAll() error {
	for i := range h.places {
		h.choose(i)
		if err := h.start(); err != nil {
			return err
		}
	}
	return nil
}

// choose makes a place the one that now and start are about.
func (h *hosts) choose(place int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.chosen = place
}

// start runs a new process in the chosen place, which is the one that now
// returns from then on.
func (h *hosts) start(flags ...string) error {
	cmd := exec.Command(filepath.Join(h.bin, "twg"), append([]string{"run", "--connect-timeout", "5m", h.file}, flags...)...)
	cmd.Env = append(os.Environ(), "TWG_FAULT_SOCKET="+h.socket, "TWG_PLUGIN_DIR="+h.bin,
		"GORACE=log_path="+filepath.Join(filepath.Dir(h.log.Name()), raceLog))
	cmd.Stdout, cmd.Stderr = h.log, h.log
	// A group of its own: an interrupt at the terminal is for the harness. It
	// must not outlive a harness that was killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starts++
	name := fmt.Sprintf("host-%d", h.starts)
	if h.roles != nil {
		cmd.Env = append(cmd.Env, hostRoleEnv+"="+h.roles[h.chosen])
	}
	if h.dsn != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s&application_name=%s", dsnEnv, h.dsn, name))
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	h.note("%s is process %d, in place %d", name, cmd.Process.Pid, h.chosen)
	h.places[h.chosen] = watchHost(name, cmd)
	return nil
}

// now returns the host of the chosen place.
func (h *hosts) now() *hostProcess {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.places[h.chosen]
}

// at returns the host of a place.
func (h *hosts) at(place int) *hostProcess {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.places[place]
}

// all returns the hosts of all places where one was started.
func (h *hosts) all() (out []*hostProcess) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.places {
		if p != nil {
			out = append(out, p)
		}
	}
	return out
}

// killAll ends the hosts of all places.
func (h *hosts) killAll() {
	for _, p := range h.all() {
		p.kill()
	}
}

// note writes into the host's log what the harness does.
func (h *hosts) note(format string, args ...any) {
	fmt.Fprintf(h.log, "--- faults %s: "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
}
