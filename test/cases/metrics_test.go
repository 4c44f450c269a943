package cases

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// metric is the value of a series; false: there is none.
func (e *endpoint) metric(series string) (float64, bool) {
	resp, err := e.client.Get("http://twg/metrics")
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, false
	}
	m := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(series) + " (.*)$").FindSubmatch(body)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	return v, err == nil
}

// A secondary without room sheds all that comes, and recovery rebuilds it: the
// metrics tell both, and that nothing is left to do.
func TestMetricsOfASecondary(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(100)...)
	e, copied := newEndpoint(t), filepath.Join(t.TempDir(), "copy")
	p := start(t, writeFile(t, e.block("")+fmt.Sprintf(`pipeline %q {
  max_ack_delay = "200ms"
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = [%q]
      group   = %q
    }
  }
  sink "parquet" "raw" {
    role    = "primary-raw"
    durable = true
    config { dir = %q }
  }
  sink "parquet" "copy" {
    role   = "secondary"
    buffer = "1B"
    config { dir = %q }
  }
  recovery { interval = "100ms" }
}
`, group, w.broker.ListenAddrs()[0], topic, group, w.dir, copied)))
	lane, all := fmt.Sprintf(`{pipeline=%q,sink="copy"}`, group), fmt.Sprintf(`{pipeline=%q}`, group)
	for series, want := range map[string]float64{
		"twg_lane_shed_rows_total" + lane:                                                           100,
		"twg_recovery_rebuilt_positions_total" + lane:                                               100,
		"twg_recovery_backlog_positions" + lane:                                                     0,
		"twg_recovery_furthest_behind_positions" + all:                                              0,
		"twg_recovery_unrecoverable_positions" + lane:                                               0,
		"twg_lane_rows_total" + lane:                                                                0,
		"twg_records_durable_total" + all:                                                           100,
		"twg_gate_receipt_to_commit_records" + all:                                                  0,
		"twg_lag_records" + all:                                                                     0,
		"twg_sink_batch_records_sum" + fmt.Sprintf(`{pipeline=%q,sink="raw"}`, group):               100,
		"twg_plugin_up" + fmt.Sprintf(`{part="recovery copy",pipeline=%q,plugin="parquet"}`, group): 1,
		"twg_stream_committed" + fmt.Sprintf(`{partition="0",pipeline=%q,topic=%q}`, group, topic):  100,
	} {
		p.Eventually(fmt.Sprintf("%s %v", series, want), func() bool {
			got, ok := e.metric(series)
			return ok && got == want
		})
	}
	p.Stop()
	w.check(100)
}
