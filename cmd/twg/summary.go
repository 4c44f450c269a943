package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// summary is what run --json prints as its last line: programs read it.
type summary struct {
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
	// FirstRecordAt is when the first record came from the source,
	// AllDurableAt when the last receipt came.
	FirstRecordAt *time.Time        `json:"first_record_at"`
	AllDurableAt  *time.Time        `json:"all_durable_at"`
	Seconds       float64           `json:"seconds"`
	Pipelines     []pipelineSummary `json:"pipelines"`
}

type pipelineSummary struct {
	Name    string   `json:"name"`
	Records int64    `json:"records"`
	Bytes   int64    `json:"bytes"`
	Alarms  int      `json:"alarms"`
	Targets []string `json:"targets"`
	// Secondaries are the sinks that do not gate.
	Secondaries []laneSummary `json:"secondaries,omitempty"`
	Error       string        `json:"error,omitempty"`
	lines       []string      // of the secondaries, for people
	recoverOnly bool
}

func (r *run) summary() summary {
	var s summary
	for _, p := range r.pipelines {
		status := p.pipe.Status()
		s.Records += status.Records
		s.Bytes += status.Bytes
		s.FirstRecordAt = earlier(s.FirstRecordAt, status.FirstRecord)
		s.AllDurableAt = later(s.AllDurableAt, status.LastDurable)
		one := pipelineSummary{Name: p.Name, Records: status.Records, Bytes: status.Bytes, Alarms: status.Alarms, Targets: r.targets(p.gate()), recoverOnly: p.source == nil}
		for _, lane := range status.Secondaries {
			one.Secondaries = append(one.Secondaries, newLaneSummary(lane, r.targetsOf(p, lane.Name)))
			one.lines = append(one.lines, laneLine(lane))
		}
		if p.err != nil {
			one.Error = r.secrets.Hide(p.err.Error())
		}
		s.Pipelines = append(s.Pipelines, one)
	}
	if s.FirstRecordAt != nil && s.AllDurableAt != nil {
		s.Seconds = s.AllDurableAt.Sub(*s.FirstRecordAt).Seconds()
	}
	return s
}

func (r *run) targets(s checkedSink) []string {
	out := []string{}
	for _, t := range s.plugin.caps.Targets {
		out = append(out, r.secrets.Hide(t))
	}
	return out
}

func (r *run) targetsOf(p *pipelineRun, name string) []string {
	for _, s := range p.secondaries() {
		if s.Name == name {
			return r.targets(s)
		}
	}
	return []string{}
}

func earlier(a *time.Time, b time.Time) *time.Time {
	if b.IsZero() || a != nil && a.Before(b) {
		return a
	}
	return &b
}

func later(a *time.Time, b time.Time) *time.Time {
	if b.IsZero() || a != nil && a.After(b) {
		return a
	}
	return &b
}

// writeSummary says on stdout what was delivered and where it lies.
func (r *run) writeSummary() error {
	s := r.summary()
	if r.json {
		return json.NewEncoder(r.app.stdout).Encode(s)
	}
	for _, p := range s.Pipelines {
		head := ""
		if len(s.Pipelines) > 1 {
			head = p.Name + ": "
		}
		if !p.recoverOnly {
			r.writeDelivered(head, p)
		}
		for _, line := range p.lines {
			fmt.Fprintf(r.app.stdout, "%ssecondary sink %s\n", head, line)
		}
	}
	return nil
}

func (r *run) writeDelivered(head string, p pipelineSummary) {
	fmt.Fprintf(r.app.stdout, "%sdelivered %d records\n", head, p.Records)
	for _, t := range p.Targets {
		if p.Records == 0 {
			fmt.Fprintf(r.app.stdout, "%snothing new for %s\n", head, t)
			continue
		}
		fmt.Fprintf(r.app.stdout, "%sthey lie in %s\n", head, t)
		for _, command := range lookAt(t) {
			fmt.Fprintf(r.app.stdout, "%slook at them: %s\n", head, command)
		}
	}
}
