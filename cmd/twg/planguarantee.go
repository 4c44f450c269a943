package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

// guarantee says what a pipeline promises, from what its plugins can do with
// these settings.
func guarantee(p *checkedPipeline) []string {
	gate := p.gate()
	out := []string{fmt.Sprintf("A source position is committed only after the sink %q has confirmed that everything below it is on stable storage. It may lag; it never leads.", gate.Name)}
	if p.Role == config.RoleRecovery {
		out = []string{fmt.Sprintf(`role = "recovery": this host starts no source and commits nothing. It reads from %q what secondary sinks lack, and writes it to them.`, gate.Name)}
	} else {
		out = append(out, movement(p)...)
	}
	caps := gate.plugin.caps
	if caps.HoldsUntilClose && p.Role != config.RoleRecovery {
		out = append(out, fmt.Sprintf("The sink confirms when a file is complete; the host asks for it after %s at the latest.", p.MaxAckDelay))
	}
	if caps.AppendOnly {
		out = append(out, "The target is append-only: a record that is delivered again is there twice.")
	}
	if len(p.secondaries()) > 0 {
		return append(out, rawFirstGuarantee(p)...)
	}
	if p.Role == config.RoleIngest {
		out = append(out, `role = "ingest": a host that does recovery is needed elsewhere once there are secondary sinks.`)
	}
	return out
}

// movement says how finely positions move.
func movement(p *checkedPipeline) []string {
	out := []string{granularityText(p.Granularity)}
	for _, topic := range slices.Sorted(maps.Keys(p.Topics)) {
		out = append(out, fmt.Sprintf("Topic %q has granularity %s.", topic, p.Topics[topic]))
	}
	return out
}

func granularityText(g sdk.Granularity) string {
	if g == sdk.GranularityRecord {
		return "Granularity record: the position moves with every durable record."
	}
	return "Granularity batch: the position moves once a whole batch is durable."
}

// rawFirstGuarantee is what secondaries add.
func rawFirstGuarantee(p *checkedPipeline) []string {
	raw := p.gate().Name
	out := []string{
		fmt.Sprintf("%s not waited for: a secondary sink is sent only what %q holds, and what it misses is rebuilt from %q. %q also keeps what each of them holds.",
			namesAre(p.secondaries()), raw, raw, raw),
	}
	for _, s := range p.secondaries() {
		out = append(out, orderText(s))
		if s.plugin.caps.FlushesLater() {
			out = append(out, fmt.Sprintf("%q confirms what it may still lose. It counts as held once %q has flushed it, which the host asks for after %s at the latest.", s.Name, s.Name, p.MaxAckDelay))
		}
	}
	return append(out, roleText(p)...)
}

func namesAre(sinks []checkedSink) string {
	var names []string
	for _, s := range sinks {
		names = append(names, fmt.Sprintf("%q", s.Name))
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " are"
}

// orderText says what it means that live and recovery write at the same time
// (V5, I2).
func orderText(s checkedSink) string {
	order := fmt.Sprintf("Rows reach %q out of order: what is rebuilt comes beside what is new.", s.Name)
	switch caps := s.plugin.caps; {
	case caps.Idempotent:
		return order + " No record is there twice."
	case caps.AppendOnly:
		return order + " It is append-only, so a row can be there twice, but in these cases only: late rows of a recovery host whose lease ran out or of a host that lost the stream; what was sent again after a crash; a write whose answer was lost. Never because a batch was on its way when a window was planned."
	}
	return order + " It does not say what becomes of a row that comes twice; that happens after a crash, when a lease ran out or a stream changed hosts, and when an answer was lost."
}

func roleText(p *checkedPipeline) []string {
	r := p.Recovery
	windows := fmt.Sprintf("Windows of at most %d positions are claimed for %s at a time; several recovery hosts share them, if the store of %q lets them.", r.WindowRows, r.LeaseTTL, p.gate().Name)
	switch p.Role {
	case config.RoleIngest:
		return []string{`role = "ingest": this host rebuilds nothing. A host with role = "recovery" or "both" is needed somewhere, or what secondary sinks miss stays missing.`}
	case config.RoleRecovery:
		return []string{windows}
	}
	return []string{windows, fmt.Sprintf("This host does both; recovery has a budget of its own (%s) and yields to what is new.", bytesText(r.Budget))}
}
