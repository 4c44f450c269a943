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
	role string
	cpu  series
	rss  series
	peak int64
}

// sampler watches processes of one run. A process that ends keeps its last
// sample, at most cpuEvery old.
type sampler struct {
	tracks map[int]*track
	root   int
	// database is the server's first process, whose children count as it does;
	// 0: there is none.
	database int

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
		for pid, tr := range s.tracks {
			tr.sample(pid, n%memoryEvery == 0 || tr.peak == 0)
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
			s.tracks[pid] = &track{role: pluginRole(c.exe)}
		}
	}
}

func pluginRole(exe string) string {
	if strings.HasSuffix(exe, "-source") {
		return roleSource
	}
	return roleSink
}

func (t *track) sample(pid int, memory bool) {
	now := time.Now()
	st, err := readStat(pid)
	if err != nil {
		return
	}
	t.cpu.add(now, st.cpu.Seconds())
	if !memory {
		return
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	if rss, peak := parseStatus(b); rss > 0 {
		t.rss.add(now, float64(rss))
		t.peak = max(t.peak, peak)
	}
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

// rss is the resident memory of the run's root process.
func (s *sampler) rss() series { return s.tracks[s.root].rss }
