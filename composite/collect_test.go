package composite_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// contributes adds what its function says.
type contributes struct {
	hook.Nop
	f func(context.Context) ([]hook.PromptSection, error)
}

func (c *contributes) PromptSections(ctx context.Context, _ *hook.Turn) ([]hook.PromptSection, error) {
	return c.f(ctx)
}

// after adds its text when the time is over.
func after(d time.Duration, text string) *contributes {
	return &contributes{f: func(ctx context.Context) ([]hook.PromptSection, error) {
		select {
		case <-time.After(d):
			return []hook.PromptSection{{Text: text}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func breaks(f func()) *contributes {
	return &contributes{f: func(context.Context) ([]hook.PromptSection, error) {
		f()
		return nil, errors.New("broken")
	}}
}

// crew has three members that are asked at the same time and two that are not.
type crew struct {
	A *contributes `hook:"PromptSections: parallel"`
	B *contributes `hook:"optional; PromptSections: parallel,timeout=1m"`
	C *contributes `hook:"PromptSections: parallel,failclosed"`
	D *contributes
	E *contributes `hook:"optional; PromptSections: failclosed"`
}

func ask(t *testing.T, c *crew) (added []string, events []string, took time.Duration, err error) {
	t.Helper()
	made, err := composite.New(c)
	require.NoError(t, err)
	h := &listener{}
	conv := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &hook.AgentConfig{Name: "a"}, Host: h})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv})
	began := time.Now()
	sections, err := made.PromptSections(t.Context(), turn)
	for _, s := range sections {
		added = append(added, s.By+" "+s.Text)
	}
	return added, h.texts, time.Since(began), err
}

type listener struct {
	hook.NoHost
	texts []string
}

func (l *listener) Emit(_ context.Context, ev hook.Event) { l.texts = append(l.texts, ev.Text) }

func TestParallelContributorsAreInPlanOrderWhoeverIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i, times := range [][4]time.Duration{{1, 2, 3, 4}, {4, 3, 2, 1}, {2, 4, 1, 3}} {
			s := func(i int) time.Duration { return times[i] * time.Second }
			got, events, took, err := ask(t, &crew{A: after(s(0), "a"), B: after(s(1), "b"), C: after(s(2), "c"), D: after(s(3), "d")})
			require.NoError(t, err)
			assert.Equal(t, []string{"A a", "B b", "C c", "D d"}, got, "%d", i)
			assert.Empty(t, events)
			assert.Equal(t, 4*time.Second, took, "they were asked at the same time")
		}
	})
}

func TestAParallelContributorThatFailsKeepsTheOthers(t *testing.T) {
	for _, c := range []struct {
		name  string
		b     *contributes
		event string
	}{
		{"error", breaks(func() {}), "B failed at PromptSections"},
		{"panic", breaks(func() { panic("boom") }), "B failed at PromptSections"},
		{"ends its goroutine", breaks(runtime.Goexit), "B failed at PromptSections"},
		{"late", after(time.Hour, "b"), "B did not answer in time at PromptSections"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, events, _, err := ask(t, &crew{A: after(1, "a"), B: c.b, C: after(2, "c"), D: after(1, "d")})
				require.NoError(t, err)
				assert.Equal(t, []string{"A a", "C c", "D d"}, got)
				assert.Equal(t, []string{c.event}, events)
			})
		})
	}
}

func TestAContributorThatFailsClosedRejectsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, events, _, err := ask(t, &crew{A: after(1, "a"), C: breaks(func() { panic("boom") }), D: after(1, "d")})
		assert.Empty(t, got)
		var f *hook.Failure
		require.ErrorAs(t, err, &f)
		assert.Equal(t, "C: PromptSections: panic: boom", f.Error())
		assert.True(t, f.Panic)
		assert.Empty(t, events, "the error is told by who gets it")

		got, events, took, err := ask(t, &crew{A: after(time.Second, "a"), B: breaks(func() {}), C: after(1, "c"), D: after(1, "d"), E: breaks(func() {})})
		assert.Empty(t, got)
		require.ErrorAs(t, err, &f)
		assert.Equal(t, "E", f.Subsystem)
		assert.Equal(t, []string{"B failed at PromptSections"}, events, "other failures are told all the same")
		assert.GreaterOrEqual(t, took, time.Second, "those that were started are waited for")
	})
}

// BenchmarkCollect asks eight contributors of one section each, one behind the
// other, and compares with a loop that does the same by hand.
func BenchmarkCollect(b *testing.B) {
	section := []hook.PromptSection{{Text: "x"}}
	add := &contributes{f: func(context.Context) ([]hook.PromptSection, error) { return section, nil }}
	c, err := composite.New(&struct{ A, B, C, D, E, F, G, H *contributes }{add, add, add, add, add, add, add, add})
	require.NoError(b, err)
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: hook.NewConversation(hook.ConversationData{Agent: &hook.AgentConfig{}})})
	ctx := b.Context()
	b.Run("dynamic", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := c.PromptSections(ctx, turn); err != nil || len(got) != 8 {
				b.Fatal(fmt.Sprint(got, err))
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var out []hook.PromptSection
			for range 8 {
				s, err := add.PromptSections(ctx, turn)
				if err != nil {
					b.Fatal(err)
				}
				for _, item := range s {
					out = append(out, item.From("A"))
				}
			}
			if len(out) != 8 {
				b.Fatal(out)
			}
		}
	})
}
