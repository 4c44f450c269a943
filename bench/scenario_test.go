package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The lag is the area between what is there and what is committed.
func TestDelay(t *testing.T) {
	begin := time.Unix(1000, 0)
	w := lagWatch{want: 100}
	for i, n := range []float64{0, 0, 50, 100} {
		w.committed.add(begin.Add(time.Duration(i-1)*time.Second), n)
	}
	// 100 records wait for the first second, 50 of them for another one.
	if got := w.delay(begin); got != 1.5 {
		t.Errorf("delay is %v s, want 1.5", got)
	}
}

func TestDigestSeesEveryColumn(t *testing.T) {
	base := func() *fullRow {
		return &fullRow{outputRow: outputRow{Topic: "t", Position: 7}, Cluster: "c", Incarnation: "i", TimestampMS: 1,
			Key: []byte("k"), Value: []byte("v"), Headers: []fullHeader{{[]byte("n"), []byte("x")}}}
	}
	sum := func(rows ...*fullRow) string {
		var d digest
		for _, r := range rows {
			d.add(r)
		}
		return d.String()
	}
	seen := map[string]string{sum(base()): "the row itself"}
	for name, change := range map[string]func(*fullRow){
		"id": func(r *fullRow) { r.ID[3] = 1 }, "topic": func(r *fullRow) { r.Topic = "u" }, "partition": func(r *fullRow) { r.Partition = 1 },
		"position": func(r *fullRow) { r.Position = 8 }, "cluster": func(r *fullRow) { r.Cluster = "d" }, "incarnation": func(r *fullRow) { r.Incarnation = "" },
		"timestamp": func(r *fullRow) { r.TimestampMS = 2 }, "key": func(r *fullRow) { r.Key = []byte{} }, "no key": func(r *fullRow) { r.Key = nil },
		"value": func(r *fullRow) { r.Value = []byte("w") }, "no header": func(r *fullRow) { r.Headers = nil },
		"header's name": func(r *fullRow) { r.Headers[0].Name = []byte("m") }, "header's value": func(r *fullRow) { r.Headers[0].Value = nil },
	} {
		r := base()
		change(r)
		if other := seen[sum(r)]; other != "" {
			t.Errorf("another %s has the digest of %s", name, other)
		}
		seen[sum(r)] = "another " + name
	}
	other := base()
	other.Position = 9
	if sum(base(), other) != sum(other, base()) {
		t.Error("the order of rows counts")
	}
}

// Rates are judged by the median of the pairs' ratios, memory by the worst pair.
func TestConclusions(t *testing.T) {
	dead := scenario{Name: deadRow, Runs: []sample{
		{deadRate: 90, healthyRate: 100, deadDelay: 1, healthyDelay: 1, deadHostPeak: 90, hostCeiling: 100, planCeiling: 100},
		{deadRate: 96, healthyRate: 100, deadDelay: 2, healthyDelay: 1, deadHostPeak: 101, hostCeiling: 100, planCeiling: 200},
		{deadRate: 99, healthyRate: 100, deadDelay: 1, healthyDelay: 1, deadHostPeak: 90, hostCeiling: 100, planCeiling: 100},
	}}
	concludeDead(&dead)
	recovery := scenario{Name: recoveryRow, Runs: []sample{{liveRate: 100, rebuildRate: 79, withoutRate: 100, besideRate: 91, besideWork: 1}}}
	concludeRecovery(&recovery)
	first := scenario{Name: rawFirstRow, Runs: []sample{{oneRate: 1, twoRate: 1, yardstickRate: 1, secondCPU: 2.6}}}
	concludeRawFirst(&first)
	flow := scenario{Name: flowRow, Runs: []sample{{guardedRate: 96, unguardedRate: 100, guardedCPU: 1, unguardedCPU: 1, scrapes: 2}}}
	concludeFlow(&flow)
	for _, c := range []struct {
		s    scenario
		want []bool
	}{{flow, []bool{true, false}}, {dead, []bool{true, true, false, true, true, true, true}}, {recovery, []bool{true, false, true}}, {first, []bool{false}}} {
		for i, want := range c.want {
			if j := c.s.Judgments[i]; j.Pass != want {
				t.Errorf("%s: %+v, want %t", c.s.Name, j, want)
			}
		}
		var out bytes.Buffer
		c.s.write(&out)
		if strings.Count(out.String(), "expected:") != len(c.want) {
			t.Errorf("printed:\n%s", out.String())
		}
	}
}
