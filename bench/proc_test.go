package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	line := []byte("42 (a) name (x) R 7 42 42 0 -1 4194304 5 0 0 0 150 25 900 900 20 0 9 0 1 2 3\n")
	got, err := parseStat(line)
	if err != nil {
		t.Fatal(err)
	}
	if want := (procStat{parent: 7, cpu: 1750 * time.Millisecond}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "42", "42 (a) R 7", "42 (a) R x 42 42 0 -1 4194304 5 0 0 0 150 25 900"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("parseStat(%q): no error", bad)
		}
	}
}

func TestParseStatus(t *testing.T) {
	rss, peak := parseStatus([]byte("Name:\tVmRSS\nVmHWM:\t     200 kB\nVmRSS:\t     100 kB\nThreads:\t3\n"))
	if rss != 100<<10 || peak != 200<<10 {
		t.Errorf("got %d, %d", rss, peak)
	}
}

func TestReadStatOfThisProcess(t *testing.T) {
	s, err := readStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if s.parent != os.Getppid() {
		t.Errorf("parent %d, want %d", s.parent, os.Getppid())
	}
}

func TestChildrenByProgram(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if _, ok := children(os.Getpid())[cmd.Process.Pid]; !ok {
		t.Errorf("child %d not found", cmd.Process.Pid)
	}
}

func TestPluginRole(t *testing.T) {
	for exe, want := range map[string]string{"twg-plugin-kafka-source": roleSource, "twg-plugin-parquet": roleSink} {
		if got := pluginRole(exe); got != want {
			t.Errorf("%s: %s, want %s", exe, got, want)
		}
	}
}
