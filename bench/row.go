package main

import "fmt"

// pair is one run of each; two is twg's with two connections to a database,
// and zero elsewhere.
type pair struct{ twg, yardstick, two outcome }

// check compares what was written: ids and, in a table, all columns.
func (p pair) check() error {
	want := p.yardstick.output
	got := []output{p.twg.output}
	if p.two.rowsPerSecond > 0 {
		got = append(got, p.two.output)
	}
	for _, o := range got {
		if o.ids != want.ids {
			return fmt.Errorf("wrong result: record ids of twg and yardstick differ: %x, %x", o.ids, want.ids)
		}
		if o.content != want.content {
			return fmt.Errorf("wrong result: rows of twg and yardstick have the same ids and differ: %s, %s", o.content, want.content)
		}
	}
	return nil
}

func (p pair) String() string {
	s := fmt.Sprintf("twg %.0f rows/s, yardstick %.0f rows/s", p.twg.rowsPerSecond, p.yardstick.rowsPerSecond)
	if p.two.rowsPerSecond > 0 {
		s += fmt.Sprintf(", twg with two connections %.0f rows/s", p.two.rowsPerSecond)
	}
	return s
}

// row is one line of the table and one object of latest.json. All figures
// but Runs are medians over the pairs; rates are records a second, CPU is in
// seconds per million records, memory in MB (1e6 bytes).
type row struct {
	Name              string  `json:"name"`
	Records           int64   `json:"records"`
	TwgRowsPerS       float64 `json:"twg_rows_per_s"`
	YardstickRowsPerS float64 `json:"yardstick_rows_per_s"`
	Ratio             float64 `json:"ratio"`

	HostCPU      float64 `json:"host_cpu_s_per_m"`
	SourceCPU    float64 `json:"source_cpu_s_per_m"`
	SinkCPU      float64 `json:"sink_cpu_s_per_m"`
	BrokerCPU    float64 `json:"broker_cpu_s_per_m"`
	YardstickCPU float64 `json:"yardstick_cpu_s_per_m"`

	// The database's CPU is that of all its processes, under twg and under the
	// yardstick. TwoConnections is twg's rate with two connections, and
	// TwoRatio that against the yardstick's one.
	DatabaseCPU          float64 `json:"database_cpu_s_per_m,omitempty"`
	YardstickDatabaseCPU float64 `json:"yardstick_database_cpu_s_per_m,omitempty"`
	TwoConnections       float64 `json:"twg_2_connections_rows_per_s,omitempty"`
	TwoRatio             float64 `json:"ratio_2_connections,omitempty"`

	// PeakRSS is the sum of the peaks of host, source and sink.
	PeakRSS          float64 `json:"peak_rss_mb"`
	HostPeakRSS      float64 `json:"host_peak_rss_mb"`
	SourcePeakRSS    float64 `json:"source_peak_rss_mb"`
	SinkPeakRSS      float64 `json:"sink_peak_rss_mb"`
	YardstickPeakRSS float64 `json:"yardstick_peak_rss_mb"`
	// HostRSSGrowth is how much the host's memory rose from the second to
	// the last quarter of a run.
	HostRSSGrowth float64 `json:"host_rss_growth_mb"`

	TwgBytesPerRow float64 `json:"twg_bytes_per_row"`
	Runs           []runs  `json:"runs"`
}

// memory is the host's over one run of all topics, in MB: at its peak, over
// time (evenly spaced, from the first record to the last commit), and how much
// it rose from the second to the last quarter.
type memory struct {
	Records       int64     `json:"records"`
	HostPeakRSS   float64   `json:"host_peak_rss_mb"`
	HostRSSGrowth float64   `json:"host_rss_growth_mb"`
	HostRSS       []float64 `json:"host_rss_mb"`
}

const memoryPoints = 20

// runs are the rates of one pair.
type runs struct {
	Twg       float64 `json:"twg_rows_per_s"`
	Yardstick float64 `json:"yardstick_rows_per_s"`
	Two       float64 `json:"twg_2_connections_rows_per_s,omitempty"`
}

func makeRow(name string, records int64, pairs []pair) row {
	med := func(f func(pair) float64) float64 {
		var vs []float64
		for _, p := range pairs {
			vs = append(vs, f(p))
		}
		return median(vs)
	}
	millions := float64(records) / 1e6
	cpu := func(role string) float64 { return med(func(p pair) float64 { return p.twg.cpu[role] / millions }) }
	peak := func(role string) float64 { return med(func(p pair) float64 { return mb(float64(p.twg.peak[role])) }) }
	r := row{
		Name: name, Records: records,
		TwgRowsPerS:       med(func(p pair) float64 { return p.twg.rowsPerSecond }),
		YardstickRowsPerS: med(func(p pair) float64 { return p.yardstick.rowsPerSecond }),
		HostCPU:           cpu(roleHost), SourceCPU: cpu(roleSource), SinkCPU: cpu(roleSink), BrokerCPU: cpu(roleBroker),
		YardstickCPU:         med(func(p pair) float64 { return p.yardstick.cpu[roleYardstick] / millions }),
		DatabaseCPU:          cpu(roleDatabase),
		YardstickDatabaseCPU: med(func(p pair) float64 { return p.yardstick.cpu[roleDatabase] / millions }),
		TwoConnections:       med(func(p pair) float64 { return p.two.rowsPerSecond }),
		HostPeakRSS:          peak(roleHost), SourcePeakRSS: peak(roleSource), SinkPeakRSS: peak(roleSink),
		YardstickPeakRSS: med(func(p pair) float64 { return mb(float64(p.yardstick.peak[roleYardstick])) }),
		HostRSSGrowth:    med(func(p pair) float64 { return mb(p.twg.rootGrowth) }),
		TwgBytesPerRow:   med(func(p pair) float64 { return float64(p.twg.output.bytes) / float64(records) }),
	}
	r.Ratio = r.TwgRowsPerS / r.YardstickRowsPerS
	r.TwoRatio = r.TwoConnections / r.YardstickRowsPerS
	r.PeakRSS = r.HostPeakRSS + r.SourcePeakRSS + r.SinkPeakRSS
	for _, p := range pairs {
		r.Runs = append(r.Runs, runs{p.twg.rowsPerSecond, p.yardstick.rowsPerSecond, p.two.rowsPerSecond})
	}
	return r
}

func mb(bytes float64) float64 { return bytes / 1e6 }
