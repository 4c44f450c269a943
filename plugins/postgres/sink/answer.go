package sink

import (
	"slices"
	"strconv"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/postgres/pgstore"
	"github.com/twg-io/twg/sdk"
)

const notWritten = "another span of its transaction was fenced, and all of it was rolled back"

func text(n int64) string { return strconv.FormatInt(n, 10) }

// outcome is a span's, to be filled in further.
func (p *part) outcome(kind sdk.OutcomeKind, reason string) sdk.Outcome {
	return sdk.Outcome{Stream: p.span.Stream, Run: p.span.Run, From: p.span.From, Next: p.span.Next, Kind: kind, Reason: reason}
}

// answer answers every span of a transaction alike, but for rows that were
// refused.
func (l *lane) answer(t *tx, kind sdk.OutcomeKind, reason string) {
	faultpoint.Hit("receipt")
	for _, j := range t.jobs {
		r := sdk.Receipt{Session: l.w.ses.ID, Seq: j.batch.Seq}
		for _, p := range j.parts {
			o := p.outcome(kind, reason)
			if kind == sdk.Durable {
				p.reject(&o, t.refused[l.states[p.claim()]])
			}
			r.Outcomes = append(r.Outcomes, o)
		}
		l.w.report(r)
	}
}

// reject names the rows of a span that were refused.
func (p *part) reject(o *sdk.Outcome, refused []sdk.RejectedRow) {
	for _, r := range refused {
		if r.Position >= p.span.From && r.Position < p.span.Next {
			o.Rejected = append(o.Rejected, r)
		}
	}
	if len(o.Rejected) > 0 {
		slices.SortFunc(o.Rejected, func(a, b sdk.RejectedRow) int { return int(a.Position - b.Position) })
		o.Kind, o.Reason = sdk.Rejected, o.Rejected[0].Reason
	}
}

// answerFenced answers the jobs that have a stale claim, whole, and returns the
// others.
func (l *lane) answerFenced(jobs []*job, fenced map[pgstore.Claim]string) []*job {
	if len(fenced) == 0 {
		return jobs
	}
	return slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool {
		stale := slices.ContainsFunc(j.parts, func(p *part) bool { return fenced[p.claim()] != "" })
		if !stale {
			return false
		}
		r := sdk.Receipt{Session: l.w.ses.ID, Seq: j.batch.Seq}
		for _, p := range j.parts {
			o := p.outcome(sdk.Retryable, notWritten)
			if reason := fenced[p.claim()]; reason != "" {
				o.Kind, o.Reason = sdk.Fenced, reason
			}
			r.Outcomes = append(r.Outcomes, o)
		}
		l.w.report(r)
		return true
	})
}
