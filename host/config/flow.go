package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/twg-io/twg/sdk"
)

var flowAttributes = []attribute[*Flow]{
	{"record_size_est_bytes", cty.String, "", func(f *Flow, v cty.Value) error { return setBytes(&f.RecordSize, v) }},
	{"warm_up_percent", cty.Number, "25", func(f *Flow, v cty.Value) error { return setPercent(&f.WarmUp, v) }},
	{"warm_up_acks", cty.Number, "32", func(f *Flow, v cty.Value) error {
		var n int64
		err := setCount(&n, v, 1_000_000)
		f.WarmUpAcks = int(n)
		return err
	}},
	{"warm_up_timeout", cty.String, "30s", func(f *Flow, v cty.Value) error {
		return setDuration(&f.WarmUpTimeout, v, time.Millisecond, time.Hour)
	}},
	{"memory_degraded_percent", cty.Number, "80", func(f *Flow, v cty.Value) error { return setThreshold(&f.MemoryDegraded, v) }},
	{"memory_critical_percent", cty.Number, "90", func(f *Flow, v cty.Value) error { return setThreshold(&f.MemoryCritical, v) }},
	{"channel_degraded_percent", cty.Number, "70", func(f *Flow, v cty.Value) error { return setThreshold(&f.ChannelDegraded, v) }},
	{"channel_critical_percent", cty.Number, "90", func(f *Flow, v cty.Value) error { return setThreshold(&f.ChannelCritical, v) }},
	{"recover_after", cty.String, "30s", func(f *Flow, v cty.Value) error {
		return setDuration(&f.RecoverAfter, v, time.Second, time.Hour)
	}},
	{"recover_for", cty.String, "1m", func(f *Flow, v cty.Value) error {
		return setDuration(&f.RecoverFor, v, time.Second, time.Hour)
	}},
	{"stuck_warn", cty.String, "5m", func(f *Flow, v cty.Value) error { return setStuck(&f.StuckWarn, v) }},
	{"stuck_unhealthy", cty.String, "10m", func(f *Flow, v cty.Value) error { return setStuck(&f.StuckUnhealthy, v) }},
	{"stuck_exit", cty.String, "20m", func(f *Flow, v cty.Value) error { return setStuck(&f.StuckExit, v) }},
	{"stuck_clear", cty.String, "30s", func(f *Flow, v cty.Value) error {
		return setDuration(&f.StuckClear, v, 3*time.Second, time.Hour)
	}},
	{"hang_warn", cty.String, "15s", func(f *Flow, v cty.Value) error { return setHang(&f.HangWarn, v) }},
	{"hang_unhealthy", cty.String, "1m", func(f *Flow, v cty.Value) error { return setHang(&f.HangUnhealthy, v) }},
	{"hang_exit", cty.String, "5m", func(f *Flow, v cty.Value) error { return setHang(&f.HangExit, v) }},
}

// setPercent sets a part of 1 from a whole number of hundredths.
func setPercent(into *float64, v cty.Value) error {
	var n int64
	err := setCount(&n, v, 100)
	*into = float64(n) / 100
	return err
}

// setThreshold keeps a threshold above the margin by which a reading must fall
// below it, and above what counts as empty.
func setThreshold(into *float64, v cty.Value) error {
	if err := setPercent(into, v); err != nil || *into < .2 {
		return errors.New("Write a whole number from 20 to 100.")
	}
	return nil
}

func setStuck(into *time.Duration, v cty.Value) error {
	return setDuration(into, v, 10*time.Second, 24*time.Hour)
}

// setHang: what is shorter could be a machine that is overloaded.
func setHang(into *time.Duration, v cty.Value) error {
	return setDuration(into, v, 5*time.Second, 24*time.Hour)
}

func (d *decoder) addFlow(p *Pipeline, b *hclsyntax.Block) {
	d.labels(b)
	if p.Flow.doc != nil {
		d.problem(b.DefRange(), "Second flow block", "Put what is said about flow control into one block.")
		return
	}
	p.Flow.place = place{doc: d.doc, def: b.DefRange()}
	p.Flow.attrs = decodeAttributes(d, b.Body, "in a flow block", flowAttributes, &p.Flow, nil)
	for _, inner := range b.Body.Blocks {
		d.unknownBlock(inner, "in a flow block", nil)
	}
	d.flowOrder(&p.Flow)
	if f := &p.Flow; f.RecordSize > p.MemoryBudget && p.MemoryBudget > 0 {
		d.problem(f.at("record_size_est_bytes"), "Record larger than the budget", "record_size_est_bytes is what each record counts as at least; it must not be more than memory_budget.")
	}
}

// flowOrder checks that each step is at least as high as the one before. An
// attribute that could not be read is not compared.
func (d *decoder) flowOrder(f *Flow) {
	for _, c := range []struct {
		lower, upper string
		wrong        bool
	}{
		{"memory_degraded_percent", "memory_critical_percent", f.MemoryCritical < f.MemoryDegraded},
		{"channel_degraded_percent", "channel_critical_percent", f.ChannelCritical < f.ChannelDegraded},
		{"stuck_warn", "stuck_unhealthy", f.StuckUnhealthy < f.StuckWarn},
		{"stuck_unhealthy", "stuck_exit", f.StuckExit < f.StuckUnhealthy},
		{"hang_warn", "hang_unhealthy", f.HangUnhealthy < f.HangWarn},
		{"hang_unhealthy", "hang_exit", f.HangExit < f.HangUnhealthy},
	} {
		at := c.upper
		if _, said := f.attrs[at]; !said {
			at = c.lower
		}
		if c.wrong && f.readable() {
			d.problem(f.at(at), "Thresholds in the wrong order", fmt.Sprintf("%s must be at least %s.", c.upper, c.lower))
		}
	}
}

// readable reports whether every threshold has got a value.
func (f *Flow) readable() bool {
	return f.MemoryDegraded > 0 && f.MemoryCritical > 0 && f.ChannelDegraded > 0 && f.ChannelCritical > 0 &&
		f.StuckWarn > 0 && f.StuckUnhealthy > 0 && f.StuckExit > 0 && f.HangWarn > 0 && f.HangUnhealthy > 0 && f.HangExit > 0
}

// CheckStuck warns where a gating sink may take longer to answer, by a setting
// of its own whose name ends in "_timeout", than the standstill is long that
// counts as stuck (F3). schema and settings are the plugin's.
func CheckStuck(p *Pipeline, s *Sink, schema []sdk.Attribute, settings sdk.Settings) Diagnostics {
	var given map[string]json.RawMessage
	if !s.Gates() || p.Flow.StuckWarn <= 0 || json.Unmarshal(settings.JSON(), &given) != nil {
		return nil
	}
	var diags Diagnostics
	for _, a := range schema {
		d, ok := timeoutOf(a, given)
		if !ok || d > 0 && d <= p.Flow.StuckWarn {
			continue
		}
		takes := fmt.Sprintf("may take %s", d)
		if d == 0 {
			takes = "may take any time"
		}
		at := s.Settings.def
		if got, said := s.Settings.body.Attributes[a.Name]; said {
			at = got.NameRange
		}
		diags = append(diags, s.doc.warningAt(at, "Sink slower than what counts as stuck", fmt.Sprintf(
			"By %s, sink %q %s, and a standstill of %s (stuck_warn) is reported as stuck while memory is high; after %s (stuck_exit) the host ends itself. Lower the one, or raise the others in the flow block.",
			a.Name, s.Name, takes, p.Flow.StuckWarn, p.Flow.StuckExit)))
	}
	return diags
}

// timeoutOf is what a plugin's timeout is set to, or its default.
func timeoutOf(a sdk.Attribute, given map[string]json.RawMessage) (time.Duration, bool) {
	if a.Sensitive || a.Type != `"string"` || !strings.HasSuffix(a.Name, "_timeout") {
		return 0, false
	}
	text, ok := given[a.Name]
	if !ok {
		text = json.RawMessage(a.Default)
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}
