package config

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/twg-io/twg/sdk"
)

var fileAttributes = []attribute[*Config]{
	{"plugin_dir", cty.String, "", func(c *Config, v cty.Value) error {
		c.PluginDir = v.AsString()
		return nil
	}},
	{"memory_limit", cty.String, "", func(c *Config, v cty.Value) error {
		return setBytes(&c.MemoryLimit, v)
	}},
}

var pipelineAttributes = []attribute[*Pipeline]{
	{"role", cty.String, "both", func(p *Pipeline, v cty.Value) error {
		return oneOf(&p.Role, v, RoleIngest, RoleRecovery, RoleBoth)
	}},
	{"granularity", cty.String, "batch", func(p *Pipeline, v cty.Value) error {
		return setGranularity(&p.Granularity, v)
	}},
	{"memory_budget", cty.String, "128MiB", func(p *Pipeline, v cty.Value) error {
		return setBytes(&p.MemoryBudget, v)
	}},
	{"max_record_bytes", cty.String, "64MiB", func(p *Pipeline, v cty.Value) error {
		return setRecordBytes(&p.MaxRecordBytes, v)
	}},
	{"max_ack_delay", cty.String, "10s", func(p *Pipeline, v cty.Value) error {
		return setDuration(&p.MaxAckDelay, v, 10*time.Millisecond, time.Hour)
	}},
	{"shutdown_timeout", cty.String, "30s", func(p *Pipeline, v cty.Value) error {
		return setDuration(&p.ShutdownTimeout, v, time.Millisecond, time.Hour)
	}},
	{"on_gap", cty.String, "fail", func(p *Pipeline, v cty.Value) error {
		return oneOf(&p.OnGap, v, OnGapFail, OnGapContinue)
	}},
	{"on_divergence", cty.String, "fail", func(p *Pipeline, v cty.Value) error {
		return oneOf(&p.OnDivergence, v, OnDivergenceFail, OnDivergenceNewIncarnation)
	}},
	{"accept_loss", cty.List(cty.String), "", func(p *Pipeline, v cty.Value) error {
		for _, e := range v.AsValueSlice() {
			p.AcceptLoss = append(p.AcceptLoss, e.AsString())
		}
		return nil
	}},
}

var topicAttributes = []attribute[*sdk.Granularity]{
	{"granularity", cty.String, "batch", setGranularity},
}

var sourceAttributes []attribute[*Source]

var sinkAttributes = []attribute[*Sink]{
	{"role", cty.String, "", func(s *Sink, v cty.Value) error {
		return oneOf(&s.Role, v, SinkPrimaryRaw, SinkSecondary)
	}},
	{"durable", cty.Bool, "", func(s *Sink, v cty.Value) error {
		b := v.True()
		s.Durable = &b
		return nil
	}},
	{"buffer", cty.String, "32MiB", func(s *Sink, v cty.Value) error {
		return setBytes(&s.Buffer, v)
	}},
	{"attempts", cty.Number, "5", func(s *Sink, v cty.Value) error {
		var n int64
		err := setCount(&n, v, 1000)
		s.Attempts = int(n)
		return err
	}},
}

var recoveryAttributes = []attribute[*Recovery]{
	{"window_rows", cty.Number, "100000", func(r *Recovery, v cty.Value) error {
		return setCount(&r.WindowRows, v, 100_000_000)
	}},
	{"window_duration", cty.String, "5m", func(r *Recovery, v cty.Value) error {
		return setDuration(&r.WindowDuration, v, 100*time.Millisecond, 24*time.Hour)
	}},
	{"lease_ttl", cty.String, "30s", func(r *Recovery, v cty.Value) error {
		return setDuration(&r.LeaseTTL, v, 100*time.Millisecond, time.Hour)
	}},
	{"budget", cty.String, "16MiB", func(r *Recovery, v cty.Value) error {
		return setBytes(&r.Budget, v)
	}},
	{"interval", cty.String, "5s", func(r *Recovery, v cty.Value) error {
		return setDuration(&r.Interval, v, 10*time.Millisecond, 24*time.Hour)
	}},
}

// oneOf sets a word that must be one of those given.
func oneOf[T ~string](into *T, v cty.Value, words ...T) error {
	quoted := make([]string, len(words))
	for i, w := range words {
		if v.AsString() == string(w) {
			*into = w
			return nil
		}
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return errors.New("Write one of: " + strings.Join(quoted, ", ") + ".")
}

func setGranularity(into *sdk.Granularity, v cty.Value) error {
	var word string
	if err := oneOf(&word, v, "batch", "record"); err != nil {
		return err
	}
	*into = sdk.GranularityBatch
	if word == "record" {
		*into = sdk.GranularityRecord
	}
	return nil
}

func setBytes(into *int64, v cty.Value) (err error) {
	*into, err = parseBytes(v.AsString())
	return err
}

// recordLimit keeps a frame of one record below what one message between host
// and plugin may have (256 MiB).
const recordLimit = 240 << 20

func setRecordBytes(into *int64, v cty.Value) error {
	if err := setBytes(into, v); err != nil {
		return err
	}
	if *into > recordLimit {
		return errors.New("It may be at most 240MiB: a record travels to the sink in one message.")
	}
	return nil
}

// setCount sets a whole number from 1 to most.
func setCount(into *int64, v cty.Value, most int64) error {
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact || n < 1 || n > most {
		return fmt.Errorf("Write a whole number from 1 to %d.", most)
	}
	*into = n
	return nil
}

func setDuration(into *time.Duration, v cty.Value, least, most time.Duration) (err error) {
	*into, err = parseDuration(v.AsString(), least, most)
	return err
}
