package main

import (
	"fmt"

	"github.com/twg-io/twg/host/config"
)

// rebuildCosts are those of secondaries and of what rebuilds them.
func rebuildCosts(p *checkedPipeline) []cost {
	var out []cost
	if p.Role == config.RoleRecovery {
		out = append(out,
			cost{"the source, its plugin or its server dies", "Nothing here: this host does not touch them."},
			cost{fmt.Sprintf("the plugin or the target of %q dies", p.gate().Name), "Rebuilding pauses and goes on by itself. What secondary sinks hold stays."})
	}
	for _, s := range p.secondaries() {
		out = append(out, secondaryCosts(p, s)...)
	}
	out = append(out, recoveryHostKilled(p))
	return append(out, cost{fmt.Sprintf("rows are pruned from %q", p.gate().Name),
		"twg raw prune leaves what a secondary sink still lacks. What it is made to remove all the same (--even-if-missing) is reported as unrecoverable, never as complete."})
}

func secondaryCosts(p *checkedPipeline, s checkedSink) []cost {
	killed := cost{fmt.Sprintf("the plugin of %q is killed", s.Name), "It is started again and is sent what it had not confirmed; what does not fit into its buffer is rebuilt " + rebuiltBy(p) + "." + unstored(s) + " The source does not wait. " + sentAgain(s)}
	away := cost{fmt.Sprintf("the target of %q is away", s.Name), fmt.Sprintf("The source and the other sinks go on at full speed. Once %s wait for it, batches are shed and counted; when it is back they are rebuilt %s. Nothing is lost while %q keeps the rows.", bytesText(s.Buffer), rebuiltBy(p), p.gate().Name)}
	if p.Role == config.RoleRecovery {
		killed.Cost = "It is started again, and its window is worked on." + unstored(s) + " " + sentAgain(s)
		away.Cost = "Its windows wait for it; those of other sinks go on."
	}
	return []cost{killed, away,
		{fmt.Sprintf("%q refuses a record for good", s.Name), fmt.Sprintf("It is set aside for %q: counted, and not sent again before twg recover --sink %s --retry-rejected. %q keeps it.", s.Name, s.Name, p.gate().Name)}}
}

// sentAgain says what becomes of a row that a secondary is sent twice.
func sentAgain(s checkedSink) string {
	switch caps := s.plugin.caps; {
	case caps.Idempotent:
		return "No record is there twice."
	case caps.AppendOnly && caps.FlushesLater():
		return "What it had written without confirming, or without flushing, can be there twice."
	case caps.AppendOnly:
		return "What it had written without confirming is there twice."
	}
	return "It does not say whether what it had written without confirming is there twice."
}

// unstored says what becomes of what a sink had confirmed and could still lose.
func unstored(s checkedSink) string {
	switch caps := s.plugin.caps; {
	case caps.Durable:
		return ""
	case caps.DurableFlush:
		return " What it had confirmed and not flushed is rebuilt too."
	}
	return " LOSS: what it had confirmed counts as held, and what it loses of that is not rebuilt."
}

func rebuiltBy(p *checkedPipeline) string {
	if p.Role == config.RoleIngest {
		return fmt.Sprintf("from %q by a recovery host", p.gate().Name)
	}
	return fmt.Sprintf("from %q", p.gate().Name)
}

func recoveryHostKilled(p *checkedPipeline) cost {
	c := cost{When: "a recovery host is killed", Cost: fmt.Sprintf("Its windows are free again after %s (lease_ttl), and another one takes them, or it does when it is back. What it had confirmed stays.", p.Recovery.LeaseTTL)}
	if p.Role == config.RoleIngest {
		c.Cost = "This host does not notice. Windows wait until a recovery host is back."
	}
	return c
}

// shedByHost: what dies with the buffers of secondaries.
func shedByHost(p *checkedPipeline) string {
	if len(p.secondaries()) == 0 {
		return ""
	}
	return " What was on its way to secondary sinks is rebuilt " + rebuiltBy(p) + "."
}

// rawAway: nothing else can be fed without raw.
func rawAway(p *checkedPipeline) string {
	if len(p.secondaries()) == 0 {
		return ""
	}
	return " Secondary sinks get nothing new meanwhile, and nothing is rebuilt."
}

// notDurable says what durable = false gives up.
func notDurable(p *checkedPipeline, s checkedSink) string {
	switch caps := s.plugin.caps; {
	case caps.Durable:
		return fmt.Sprintf("durable = false of %q: nothing, with these settings: it confirms only what is on stable storage.", s.Name)
	case caps.DurableFlush:
		return fmt.Sprintf("durable = false of %q: nothing for good. It confirms what it may still lose, and only what it has flushed counts as held; what it loses before that is rebuilt %s.", s.Name, rebuiltBy(p))
	}
	return fmt.Sprintf("durable = false of %q: what it has taken counts as held, and it has no flush that would say more, so what it loses afterwards, in a crash or a power cut, is not rebuilt.", s.Name)
}
