// Package metrics makes Prometheus metrics of what a host tells about itself,
// when it is asked for them. Names and labels stand in docs/metrics.md.
package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
)

// MaxStreams bounds the streams of a pipeline that have metrics of their own.
const MaxStreams = 1000

// One scrape is made at a time for each of so many clients, in at most so long.
const (
	maxScrapes    = 4
	scrapeTimeout = 5 * time.Second
)

// Handler answers scrapes with what host returns then, from a registry of its
// own.
func Handler(host func() view.Host, limits health.Limits) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{host, limits}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout})
}

type collector struct {
	host   func() view.Host
	limits health.Limits
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range all() {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	h := c.host()
	o := out{ch}
	o.put(buildInfo, 1, h.Version)
	o.put(startTime, float64(h.Started.UnixMilli())/1000)
	o.health(&h, c.limits)
	for i := range h.Pipelines {
		o.pipeline(onePipeline{&h.Pipelines[i], h.At})
	}
}

// out is where metrics go.
type out struct{ ch chan<- prometheus.Metric }

func (o out) put(m metric, v float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.kind == counter {
		kind = prometheus.CounterValue
	}
	o.ch <- prometheus.MustNewConstMetric(m.desc, kind, v, labels...)
}

// each puts the metrics of a table.
func each[T any](o out, rows []of[T], x T, labels ...string) {
	for i := range rows {
		if v, ok := rows[i].value(x); ok {
			o.put(rows[i].metric, v, labels...)
		}
	}
}

func (o out) health(h *view.Host, l health.Limits) {
	o.put(live, bit(health.Live(h, h.At).OK))
	v := health.Ready(h, l, h.At)
	o.put(ready, bit(v.OK))
	said := map[[2]string]bool{}
	for _, r := range v.Reasons {
		if k := [2]string{r.Pipeline, string(r.Code)}; !said[k] {
			said[k] = true
			o.put(notReady, 1, k[0], k[1])
		}
	}
}

func (o out) pipeline(a onePipeline) {
	p := a.of
	each(o, pipelineRows, a, p.Name)
	if p.Role.Ingests() {
		each(o, gateRows, a, p.Name)
		o.histogram(sinkLatency, &p.Sink.Latency, p.Name, p.Sink.Name)
		o.histogram(batchBytes, &p.Sink.BatchBytes, p.Name, p.Sink.Name)
		o.histogram(batchRecords, &p.Sink.BatchRecords, p.Name, p.Sink.Name)
	}
	if f := p.Flow; f != nil {
		each(o, flowRows, f, p.Name)
		o.oneOf(backpressure, view.BackpressureStates, f.Backpressure, p.Name)
		o.oneOf(stuckLevel, view.StuckLevels, f.Stuck, p.Name)
	}
	for _, s := range merged(p.Streams) {
		each(o, streamRows, &s, p.Name, s.Topic, strconv.Itoa(int(s.Partition)))
	}
	for i := range p.Lanes {
		o.lane(&p.Lanes[i], p.Name)
	}
	if v, ok := furthestBehind(p.Lanes); ok {
		o.put(furthest, v, p.Name)
	}
	for i := range p.Plugins {
		each(o, pluginRows, &p.Plugins[i], p.Name, p.Plugins[i].Part, p.Plugins[i].Name)
	}
}

func (o out) lane(l *view.Lane, pipeline string) {
	each(o, laneRows, l, pipeline, l.Name)
	o.histogram(laneLatency, &l.Latency, pipeline, l.Name)
	o.histogram(laneBytes, &l.BatchBytes, pipeline, l.Name)
	o.histogram(laneRecords, &l.BatchRecords, pipeline, l.Name)
}

// oneOf puts a state set. What is not known is left out.
func (o out) oneOf(m metric, states []string, is, pipeline string) {
	if is == "" {
		return
	}
	for _, s := range states {
		o.put(m, bit(s == is), pipeline, s)
	}
}

func (o out) histogram(m metric, h *view.Histogram, labels ...string) {
	if len(h.Counts) != len(h.Bounds)+1 {
		return // nothing was said yet
	}
	buckets, n := make(map[float64]uint64, len(h.Bounds)), uint64(0)
	for i, b := range h.Bounds {
		n += h.Counts[i]
		buckets[b] = n
	}
	o.ch <- prometheus.MustNewConstHistogram(m.desc, n+h.Counts[len(h.Bounds)], h.Sum, buckets, labels...)
}

// merged are the first streams, each topic and partition once: while a topic is
// created anew, two incarnations may be assigned.
func merged(in []view.Stream) []view.Stream {
	type key struct {
		topic     string
		partition int32
	}
	var list []view.Stream
	index := map[key]int{}
	for _, s := range in[:min(len(in), MaxStreams)] {
		s.Topic = strings.ToValidUTF8(s.Topic, "\uFFFD") // a label has to be
		k := key{s.Topic, s.Partition}
		i, twice := index[k]
		if !twice {
			index[k] = len(list)
			list = append(list, s)
			continue
		}
		list[i] = both(list[i], s)
	}
	return list
}

// both is the newer of two with what is left to do of each.
func both(old, s view.Stream) view.Stream {
	if old.Lag >= 0 && s.Lag >= 0 {
		s.Lag, s.LagSeconds = s.Lag+old.Lag, max(s.LagSeconds, old.LagSeconds)
	} else {
		s.Lag, s.LagSeconds = -1, -1
	}
	s.Holes += old.Holes
	return s
}

// totalLag and greatestLag are known once every stream's is.
func totalLag(a onePipeline) (n float64, ok bool) {
	for _, s := range a.of.Streams {
		if s.Lag < 0 {
			return 0, false
		}
		n += float64(s.Lag)
	}
	return n, len(a.of.Streams) > 0
}

func greatestLag(a onePipeline) (n float64, ok bool) {
	for _, s := range a.of.Streams {
		if s.LagSeconds < 0 {
			return 0, false
		}
		n = max(n, s.LagSeconds)
	}
	return n, len(a.of.Streams) > 0
}

func uncommitted(streams []view.Stream) (n float64) {
	for _, s := range streams {
		n += float64(max(s.Frontier-max(s.Committed, 0), 0))
	}
	return n
}

func furthestBehind(lanes []view.Lane) (n float64, ok bool) {
	for i := range lanes {
		switch l := &lanes[i]; {
		case l.Known():
			n, ok = max(n, float64(l.BacklogPositions)), true
		case l.Recovers:
			return 0, false // it may be the one
		}
	}
	return n, ok
}
