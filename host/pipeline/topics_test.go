package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// surveyed is a source that says what became of its topics, before it
// announces streams and after that: each state holds for a time.
type surveyed struct {
	*fakeSource
	states []surveyState
}

type surveyState struct {
	list []sdk.Topic
	hold time.Duration
}

func (s *surveyed) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	ev.Topics(s.states[0].list)
	r, err := s.fakeSource.Open(ctx, ev)
	if err != nil {
		return nil, err
	}
	life := s.life
	life.wg.Go(func() {
		for i := 1; i < len(s.states); i++ {
			if !pause(life.ctx, s.states[i-1].hold) {
				return
			}
			ev.Topics(s.states[i].list)
		}
	})
	return r, nil
}

// Until caught up: a topic that is not there is an error that names it, after
// all the others are durable and committed, and after a moment in which it may
// appear. One that is only pending is waited for.
func TestTopicsThatAreNotThere(t *testing.T) {
	there := sdk.Topic{Name: "t", Presence: sdk.TopicThere}
	gone := sdk.Topic{Name: "orders", Presence: sdk.TopicAbsent, Reason: "it does not exist; create it"}
	electing := sdk.Topic{Name: "orders", Presence: sdk.TopicPending, Reason: "no leader"}
	came := sdk.Topic{Name: "orders", Presence: sdk.TopicThere}
	state := func(hold time.Duration, list ...sdk.Topic) surveyState { return surveyState{list, hold} }
	for name, c := range map[string]struct {
		parts  int
		states []surveyState
		want   string // of the error; empty: none
		took   [2]time.Duration
	}{
		"all there":          {2, []surveyState{state(0, there)}, "", [2]time.Duration{0, time.Second}},
		"one of two":         {2, []surveyState{state(0, there, gone)}, `topic "orders" cannot be read: it does not exist; create it`, [2]time.Duration{absentGrace, absentGrace + 2*time.Second}},
		"the only one":       {0, []surveyState{state(0, gone)}, `topic "orders" cannot be read: it does not exist; create it`, [2]time.Duration{absentGrace, absentGrace + 2*time.Second}},
		"appears in time":    {2, []surveyState{state(time.Second, there, gone), state(0, there, came)}, "", [2]time.Duration{time.Second, 2 * time.Second}},
		"pending, then led":  {2, []surveyState{state(time.Minute, there, electing), state(0, there, came)}, "", [2]time.Duration{time.Minute, time.Minute + time.Second}},
		"pending, then gone": {2, []surveyState{state(time.Minute, there, electing), state(0, there, gone)}, "orders", [2]time.Duration{time.Minute + absentGrace, time.Minute + absentGrace + 2*time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(c.parts, 50), &fakeSink{store: newStore()}
				cfg := config(topic, sink)
				cfg.Source = &surveyed{cfg.Source.(*fakeSource), c.states}
				began := time.Now()
				_, err := run(t, cfg)
				if took := time.Since(began); took < c.took[0] || took > c.took[1] {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrTopicsAbsent) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				wantAll(t, topic, sink.store)
			})
		})
	}
}

// Without the flag a topic that is not there may come later.
func TestATopicThatIsNotThereIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 50), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		cfg.UntilCaughtUp = false
		cfg.Source = &surveyed{cfg.Source.(*fakeSource), []surveyState{{list: []sdk.Topic{{Name: "orders", Presence: sdk.TopicAbsent, Reason: "gone"}}}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := New(cfg).Run(ctx); err != nil || ctx.Err() == nil {
			t.Errorf("it ended with %v before it was stopped", err)
		}
		wantAll(t, topic, sink.store)
	})
}
