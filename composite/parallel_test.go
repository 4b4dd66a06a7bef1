package composite_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// busy counts the contributors that run at once.
type busy struct{ now, most atomic.Int64 }

// takes returns a contributor that runs for the time and then ends as said.
func (b *busy) takes(d time.Duration, end func() ([]hook.PromptSection, error)) *contributes {
	return &contributes{f: func(context.Context) ([]hook.PromptSection, error) {
		n := b.now.Add(1)
		for most := b.most.Load(); n > most && !b.most.CompareAndSwap(most, n); most = b.most.Load() {
		}
		defer b.now.Add(-1)
		time.Sleep(d)
		return end()
	}}
}

func says(text string) func() ([]hook.PromptSection, error) {
	return func() ([]hook.PromptSection, error) { return []hook.PromptSection{{Text: text}}, nil }
}

// tagged returns a composite whose members all have the tag.
func tagged(t require.TestingT, tag string, members ...hook.Hook) *composite.Composite {
	options, problems := plan.ParseTag(tag, points())
	require.Empty(t, problems)
	fields := make([]composite.Field, len(members))
	for i, m := range members {
		fields[i] = composite.Field{Name: fmt.Sprintf("M%02d", i), Hook: m, Options: options}
	}
	c, err := composite.Of("Test", fields...)
	require.NoError(t, err)
	return c
}

// sectionsOf asks the composite, and returns who said what and what the host was told.
func sectionsOf(ctx context.Context, t require.TestingT, c *composite.Composite) (said, told []string, err error) {
	h := &listener{}
	conv := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &hook.AgentConfig{Name: "a"}, Host: h})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv})
	sections, err := c.PromptSections(ctx, turn)
	for _, s := range sections {
		said = append(said, s.By+" "+s.Text)
	}
	return said, h.texts, err
}

func TestAPointRunsAsManyContributorsAtOnceAsItsBoundAllows(t *testing.T) {
	for _, c := range []struct {
		name       string
		bound      *composite.Parallel
		most, took int
	}{
		{"the default", nil, 8, 3},
		{"the default of Bounded", &composite.Parallel{}, 8, 3},
		{"three", &composite.Parallel{Point: 3}, 3, 7},
		{"one after the other", &composite.Parallel{Point: 1}, 1, 20},
		{"none but the first of the point", &composite.Parallel{Process: -1}, 1, 20},
		{"two of the process and the first", &composite.Parallel{Process: 2}, 3, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &busy{}
				var members []hook.Hook
				var want []string
				for i := range 20 {
					members = append(members, b.takes(time.Second, says("x")))
					want = append(want, fmt.Sprintf("M%02d x", i))
				}
				made := tagged(t, "PromptSections: parallel", members...)
				if c.bound != nil {
					made = made.Bounded(*c.bound)
				}
				began := time.Now()
				said, _, err := sectionsOf(t.Context(), t, made)
				require.NoError(t, err)
				assert.Equal(t, want, said)
				assert.Equal(t, int64(c.most), b.most.Load())
				assert.Equal(t, time.Duration(c.took)*time.Second, time.Since(began))
			})
		})
	}
}

// A slow member occupies its own place only: no other one waits for it, neither at its point nor
// in another turn.
func TestASlowContributorKeepsNobodyElseWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{}
		members := []hook.Hook{b.takes(time.Hour, says("slow"))}
		for range 9 {
			members = append(members, b.takes(time.Second, says("x")))
		}
		made := tagged(t, "PromptSections: parallel,timeout=none", members...).Bounded(composite.Parallel{Point: 2})
		ended := make(chan time.Duration, 2)
		began := time.Now()
		for range 2 {
			go func() {
				said, _, err := sectionsOf(t.Context(), t, made)
				assert.NoError(t, err)
				assert.Len(t, said, 10)
				ended <- time.Since(began)
			}()
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		assert.Equal(t, int64(2), b.now.Load(), "in each turn all quick ones are over after nine seconds")
		assert.Equal(t, time.Hour, <-ended)
		assert.Equal(t, time.Hour, <-ended)
	})
}

// The wait for a place is not part of the timeout, and an abandoned member gives its place back.
func TestAContributorThatWaitsHasNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{}
		made := tagged(t, "PromptSections: parallel,timeout=2s",
			b.takes(1500*time.Millisecond, says("a")), b.takes(time.Minute, says("late")), b.takes(1500*time.Millisecond, says("c")),
		).Bounded(composite.Parallel{Point: 1})
		began := time.Now()
		said, told, err := sectionsOf(t.Context(), t, made)
		require.NoError(t, err)
		assert.Equal(t, []string{"M00 a", "M02 c"}, said)
		assert.Equal(t, []string{"M01 did not answer in time at PromptSections"}, told)
		assert.Equal(t, 5*time.Second, time.Since(began))
		time.Sleep(time.Minute)

		h := &runs{}
		recorded := tagged(t, "PromptSections: parallel", b.takes(time.Second, says("a")), b.takes(time.Second, says("b"))).
			Bounded(composite.Parallel{Point: 1}).Recorded(nil)
		turn, _ := hook.NewTurn(hook.TurnData{Conversation: hook.NewConversation(hook.ConversationData{ID: "c", Agent: &hook.AgentConfig{Name: "a"}, Host: h})})
		began = time.Now()
		_, err = recorded.PromptSections(t.Context(), turn)
		require.NoError(t, err)
		require.Len(t, h.all, 2)
		for i, r := range h.all {
			assert.Equal(t, time.Second, r.Duration)
			assert.Equal(t, time.Duration(i)*time.Second, r.Started.Sub(began))
			assert.Equal(t, event.RunSucceeded, r.Status)
		}
	})
}

type runs struct {
	hook.NoHost
	all []hook.Run
}

func (r *runs) Emit(_ context.Context, ev hook.Event) {
	if run, ok := ev.Run(); ok {
		r.all = append(r.all, run)
	}
}

// Outer walks that hold every slot of the process do not stop the members of the composites that
// they wait for.
func TestNestedParallelContributorsCannotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{}
		var outer []hook.Hook
		for range 6 {
			inner := tagged(t, "PromptSections: parallel", b.takes(time.Second, says("x")), b.takes(time.Second, says("y")))
			outer = append(outer, inner)
		}
		made := tagged(t, "PromptSections: parallel", outer...).Bounded(composite.Parallel{Process: 1})
		said, _, err := sectionsOf(t.Context(), t, made)
		require.NoError(t, err)
		assert.Len(t, said, 12)
		assert.LessOrEqual(t, b.most.Load(), int64(3), "the first of each running walk, and one slot")
	})
}

// Whatever members do and take, and whatever the bounds, the contributions and failures are those
// of the same members one after the other.
func TestParallelAndSequentialContributeTheSame(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(rt *rapid.T) {
		type act struct{ kind, millis int }
		acts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
			return act{rapid.IntRange(0, 4).Draw(t, "what"), rapid.IntRange(0, 50).Draw(t, "millis")}
		}), 1, 12).Draw(rt, "acts")
		bound := composite.Parallel{Point: rapid.IntRange(1, 5).Draw(rt, "point"), Process: rapid.IntRange(-1, 4).Draw(rt, "process")}
		b := &busy{}
		members := make([]hook.Hook, len(acts))
		for i, a := range acts {
			members[i] = b.takes(time.Duration(a.millis)*time.Millisecond, func() ([]hook.PromptSection, error) {
				switch a.kind {
				case 0:
					return nil, errors.New("broken")
				case 1:
					panic("boom")
				case 2:
					return nil, nil
				}
				return []hook.PromptSection{{Text: fmt.Sprint("a", i)}, {Text: fmt.Sprint("b", i)}}, nil
			})
		}
		synctest.Test(t, func(t *testing.T) {
			said, told, err := sectionsOf(t.Context(), t, tagged(t, "", members...))
			b.most.Store(0)
			saidAtOnce, toldAtOnce, errAtOnce := sectionsOf(t.Context(), t, tagged(t, "PromptSections: parallel", members...).Bounded(bound))
			assert.Equal(t, said, saidAtOnce)
			assert.Equal(t, told, toldAtOnce)
			assert.Equal(t, err, errAtOnce)
			assert.LessOrEqual(t, b.most.Load(), int64(min(bound.Point, max(1, 1+bound.Process+64*boolInt(bound.Process == 0)))))
		})
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
