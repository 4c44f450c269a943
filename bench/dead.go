package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

const (
	healthyRate  = "with a healthy secondary"
	deadRate     = "with a dead secondary"
	healthyDelay = "source lag with a healthy secondary"
	deadDelay    = "source lag with a dead secondary"
	deadPeak     = "memory of host and plugins with a dead secondary"
	deadHostPeak = "memory of the host alone with a dead secondary"
	deadSource   = "memory of the source's plugin then"
	deadRaw      = "memory of raw's plugin then"
	deadLake     = "memory of the dead secondary's plugin then"
	hostCeiling  = "ceiling of the host that twg plan printed"
	planCeiling  = "ceiling of host and plugins that twg plan printed"
	saidSource   = "most that the source's plugin says it takes"
	saidRaw      = "most that raw's plugin says it takes"
	saidLake     = "most that the secondary's plugin says it takes"
	lakePeak     = "memory of the healthy secondary's plugin"
	backRate     = "rebuilt afterwards, by twg recover, with its start"
)

// deadPair runs twg with a healthy secondary and with one that is down from
// start to end, which is then brought back and rebuilt.
func (h *harness) deadPair(ctx context.Context, c benchCase, swap bool) (sample, error) {
	var well live
	dead := sample{}
	steps := []func() error{
		func() (err error) { well, err = h.healthy(ctx, c, "lake"); return err },
		func() error { return h.dead(ctx, c, dead) },
	}
	if err := inOrder(swap, steps); err != nil {
		return nil, err
	}
	dead[healthyRate], dead[healthyDelay] = well.rowsPerSecond, well.delay
	dead[lakePeak] = mb(float64(well.peaks["parquet"]))
	return dead, nil
}

func (h *harness) dead(ctx context.Context, c benchCase, into sample) error {
	t, err := h.fresh(ctx, c)
	if err != nil {
		return err
	}
	top := topology{role: "ingest", topics: t.topics, secondaries: []secondary{lake(t, "lake")}}
	plan, err := h.planned(ctx, t, top)
	if err != nil {
		return err
	}
	if err := takeAway(t, "lake"); err != nil {
		return err
	}
	l, err := h.runLive(ctx, t, top, c.topic, false)
	if err != nil {
		return err
	}
	if n := l.lanes["lake"].Delivered; n != 0 {
		return fmt.Errorf("the secondary that should be down got %d rows", n)
	}
	into[deadRate], into[deadDelay] = l.rowsPerSecond, l.delay
	into[deadSource], into[deadRaw], into[deadLake] = mb(float64(l.peaks["kafka-source"])), mb(float64(l.peaks["postgres"])), mb(float64(l.peaks["parquet"]))
	into[deadPeak], into[deadHostPeak], into[planCeiling] = mb(l.totalPeak), mb(float64(l.peak[roleHost])), mb(plan.Memory.Together)
	into[hostCeiling] = mb(plan.Memory.Host)
	into[saidSource], into[saidRaw], into[saidLake] = mb(plan.of("kafka-source")), mb(plan.of("postgres")), mb(plan.of("parquet"))
	return h.back(ctx, t, top, into)
}

// back ends the outage. Recovery makes the secondary equal to raw.
func (h *harness) back(ctx context.Context, t task, top topology, into sample) error {
	if err := bringBack(t, "lake"); err != nil {
		return err
	}
	began := time.Now()
	r, err := h.recoverSink(ctx, t, top, "lake")
	if err != nil {
		return err
	}
	if r.Rebuilt != t.records() {
		return fmt.Errorf("wrong result: %d of %d records were rebuilt", r.Rebuilt, t.records())
	}
	into[backRate] = float64(r.Rebuilt) / time.Since(began).Seconds()
	if err := h.checkLakes(ctx, t, "lake"); err != nil {
		return fmt.Errorf("left in %s: %w", t.dir, err)
	}
	return os.RemoveAll(t.dir)
}

// concludeDead judges memory by the plan's ceilings: the host's, what each plugin
// says of itself, and that of all together.
func concludeDead(s *scenario) {
	s.show("rows/s", deadRate, healthyRate, backRate)
	s.show("s", deadDelay, healthyDelay)
	s.Figures = append(s.Figures, figure{deadLake, s.worst(deadLake), "MB"})
	s.judge(
		atLeast("rate, dead to healthy", s.ratio(deadRate, healthyRate), minDeadRatio),
		atLeast("source lag, healthy to dead", s.ratio(healthyDelay, deadDelay), minDeadRatio),
		atMost(deadHostPeak, s.worst(deadHostPeak), s.median(hostCeiling), "MB"),
		atMost(deadSource, s.worst(deadSource), s.median(saidSource), "MB"),
		atMost(deadRaw, s.worst(deadRaw), s.median(saidRaw), "MB"),
		atMost(lakePeak, s.worst(lakePeak), s.median(saidLake), "MB"),
		atMost(deadPeak, s.worst(deadPeak), s.median(planCeiling), "MB"),
	)
}
