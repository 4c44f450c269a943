package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Process roles, as the table calls them.
const (
	roleHost      = "host"
	roleSource    = "source"
	roleSink      = "sink"
	roleBroker    = "broker"
	roleYardstick = "yardstick"
	roleDatabase  = "database"
)

const (
	cpuEvery    = 20 * time.Millisecond
	memoryEvery = 5  // in units of cpuEvery
	searchEvery = 10 // in units of cpuEvery
	searchFirst = 50 // so many times each time: plugins start now, and a run may be short
)

// track is what was seen of one process.
type track struct {
	role    string
	program string // a plugin's; empty: the root's
	cpu     series
	rss     series
	peak    int64
}

// sampler watches processes of one run. A process that ends keeps its last
// sample, at most cpuEvery old.
type sampler struct {
	tracks map[int]*track
	root   int
	// database is the server's first process, whose children count as it does;
	// 0: there is none.
	database int
	// total is the resident memory of root and its plugins together.
	total series

	stop chan struct{}
	wg   sync.WaitGroup
}

// startSampler watches root as rootRole, its children by their names, and the
// broker and, unless it is 0, the database.
func startSampler(root int, rootRole string, broker, database int) *sampler {
	s := &sampler{root: root, database: database, stop: make(chan struct{}), tracks: map[int]*track{
		root: {role: rootRole}, broker: {role: roleBroker},
	}}
	if database != 0 {
		s.tracks[database] = &track{role: roleDatabase}
	}
	s.wg.Go(s.loop)
	return s
}

func (s *sampler) loop() {
	t := time.NewTicker(cpuEvery)
	defer t.Stop()
	for n := 0; ; n++ {
		if n%searchEvery == 0 || n < searchFirst {
			s.search()
		}
		memory, sum := n%memoryEvery == 0, 0.0
		for pid, tr := range s.tracks {
			rss := tr.sample(pid, memory || tr.peak == 0)
			if tr.role != roleBroker && tr.role != roleDatabase {
				sum += rss
			}
		}
		if memory {
			s.total.add(time.Now(), sum)
		}
		select {
		case <-s.stop:
			return
		case <-t.C:
		}
	}
}

func (s *sampler) search() {
	for pid, c := range children(s.root, s.database) {
		switch {
		case s.tracks[pid] != nil:
		case c.parent == s.database:
			s.tracks[pid] = &track{role: roleDatabase}
		case strings.HasPrefix(c.exe, "twg-plugin-"):
			s.tracks[pid] = &track{role: pluginRole(c.exe), program: strings.TrimPrefix(c.exe, "twg-plugin-")}
		}
	}
}

func pluginRole(exe string) string {
	if strings.HasSuffix(exe, "-source") {
		return roleSource
	}
	return roleSink
}

// sample returns the resident memory, if that is looked at and the process is
// alive, else 0.
func (t *track) sample(pid int, memory bool) float64 {
	now := time.Now()
	st, err := readStat(pid)
	if err != nil {
		return 0
	}
	t.cpu.add(now, st.cpu.Seconds())
	if !memory {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	rss, peak := parseStatus(b)
	if rss > 0 {
		t.rss.add(now, float64(rss))
		t.peak = max(t.peak, peak)
	}
	return float64(rss)
}

// finish stops the watching; the tracks are still then.
func (s *sampler) finish() {
	close(s.stop)
	s.wg.Wait()
}

// cpuSeconds is what role used from one time to another. A plugin that was
// started several times counts each time.
func (s *sampler) cpuSeconds(role string, from, to time.Time) float64 {
	sum := 0.0
	for _, t := range s.tracks {
		if t.role == role {
			sum += t.cpu.at(to) - t.cpu.at(from)
		}
	}
	return sum
}

// peakBytes is the highest resident memory of one process of role.
func (s *sampler) peakBytes(role string) int64 {
	var peak int64
	for _, t := range s.tracks {
		if t.role == role {
			peak = max(peak, t.peak)
		}
	}
	return peak
}

// peakByProgram is the highest resident memory of each program that was run,
// but for the broker and the database. One that was started several times
// counts once.
func (s *sampler) peakByProgram() map[string]int64 {
	peaks := map[string]int64{}
	for _, t := range s.tracks {
		if t.role != roleBroker && t.role != roleDatabase {
			peaks[t.program] = max(peaks[t.program], t.peak)
		}
	}
	return peaks
}

// rss is the resident memory of the run's root process.
func (s *sampler) rss() series { return s.tracks[s.root].rss }
