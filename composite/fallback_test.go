package composite_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
)

// prepared contributes what its function says, or else its fallback.
type prepared struct {
	contributes
	fallback func(*hook.Turn) hook.Contributions
}

func (p *prepared) Fallback(turn *hook.Turn) hook.Contributions { return p.fallback(turn) }

func sections(texts ...string) (out []hook.PromptSection) {
	for _, text := range texts {
		out = append(out, hook.PromptSection{Text: text})
	}
	return out
}

// spare is a member whose fallback is the text.
func spare(c *contributes, text string) *prepared {
	return &prepared{*c, func(*hook.Turn) hook.Contributions {
		return hook.Contributions{PromptSections: sections(text), TurnPolicy: []hook.Policy{{Domain: "of another point"}}}
	}}
}

// heard collects what hooks emit; contributions of parallel members come from several goroutines.
type heard struct {
	hook.NoHost
	mu       sync.Mutex
	failures []*hook.Failure
	runs     []hook.Run
}

func (h *heard) Emit(_ context.Context, ev hook.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run, ok := ev.Run(); ok {
		h.runs = append(h.runs, run)
	} else if ev.Kind == event.HookFailed {
		h.failures = append(h.failures, ev.Failure())
	}
}

func (h *heard) errors() (out []string) {
	for _, f := range h.failures {
		out = append(out, f.Error())
	}
	return out
}

func turnOf(h hook.Host) *hook.Turn {
	conv := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &hook.AgentConfig{Name: "a"}, Host: h})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv, ID: "t"})
	return turn
}

// added asks for sections: each as its path and its text.
func added(t *testing.T, h hook.PromptSections, turn *hook.Turn) (out []string, err error) {
	t.Helper()
	all, err := h.PromptSections(t.Context(), turn)
	for _, s := range all {
		out = append(out, s.By+" "+s.Text)
	}
	return out, err
}

func compose(t *testing.T, s any) *composite.Composite {
	t.Helper()
	c, err := composite.New(s)
	require.NoError(t, err)
	return c
}

// A fallback takes the place of its member in plan order, however that failed, and the failure is reported.
func TestFallbackTakesThePlaceOfItsMember(t *testing.T) {
	for _, tt := range []struct {
		name, failure string
		fails         *contributes
	}{
		{"error", "B: PromptSections: broken", breaks(func() {})},
		{"panic", "B: PromptSections: panic: boom", breaks(func() { panic("boom") })},
		{"ends its goroutine", "B: PromptSections: it ended its goroutine", breaks(runtime.Goexit)},
		{"late", "B: PromptSections: no answer within 5s; a field's tag or a layer changes that:  PromptSections: timeout=…", after(time.Hour, "late")},
		{"some and an error", "B: PromptSections: broken", &contributes{f: func(context.Context) ([]hook.PromptSection, error) {
			return sections("half"), errors.New("broken")
		}}},
	} {
		b := spare(tt.fails, "spare")
		for mode, s := range map[string]any{
			"one by one": &struct {
				A *contributes
				B *prepared
				C *contributes
			}{after(1, "a"), b, after(1, "c")},
			"parallel": &struct {
				A *contributes
				B *prepared `hook:"PromptSections: parallel"`
				C *contributes
			}{after(1, "a"), b, after(1, "c")},
		} {
			t.Run(tt.name+" "+mode, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for kind, c := range map[string]*composite.Composite{"plain": compose(t, s), "recorded": compose(t, s).Recorded(nil)} {
						h := &heard{}
						got, err := added(t, c, turnOf(h))
						require.NoError(t, err, kind)
						assert.Equal(t, []string{"A a", "B spare", "C c"}, got, kind)
						assert.Equal(t, []string{tt.failure}, h.errors(), kind)
					}
				})
			})
		}
	}
}

// A fallback is asked only after an open failure of its member.
func TestFallbackIsAskedAfterAnOpenFailureOnly(t *testing.T) {
	never := func(c *contributes) *prepared {
		return &prepared{*c, func(*hook.Turn) hook.Contributions {
			t.Error("the fallback was asked")
			return hook.Contributions{}
		}}
	}
	got, err := added(t, compose(t, &struct{ A, B *prepared }{never(after(0, "a")), never(&contributes{f: func(context.Context) ([]hook.PromptSection, error) { return nil, nil }})}), turnOf(nil))
	require.NoError(t, err)
	assert.Equal(t, []string{"A a"}, got)
	for _, s := range []any{
		&struct {
			A *prepared `hook:"PromptSections: failclosed"`
			B *prepared
		}{never(breaks(func() {})), never(breaks(func() {}))},
		&struct {
			A *prepared `hook:"PromptSections: failclosed,parallel"`
		}{never(breaks(func() {}))},
	} {
		got, err = added(t, compose(t, s), turnOf(nil))
		var f *hook.Failure
		require.ErrorAs(t, err, &f)
		assert.Equal(t, "A", f.Subsystem)
		assert.Empty(t, got)
	}
	got, err = added(t, compose(t, &struct {
		A *prepared `hook:"match=agent:other"`
	}{never(breaks(func() {}))}), turnOf(nil))
	require.NoError(t, err)
	assert.Empty(t, got)
}

// A fallback that fails is none, and is reported after its member.
func TestFallbackThatFails(t *testing.T) {
	for _, tt := range []struct {
		name, failure string
		fallback      func()
		late          int
	}{
		{"panics", "A: PromptSections: its fallback: panic: worse", func() { panic("worse") }, 0},
		{"ends its goroutine", "A: PromptSections: its fallback: it ended its goroutine", runtime.Goexit, 0},
		{"is late", "A: PromptSections: its fallback: no answer within 1s", func() { time.Sleep(time.Minute) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := compose(t, &struct {
					A *prepared
					B *contributes
				}{&prepared{*breaks(func() {}), func(*hook.Turn) hook.Contributions {
					tt.fallback()
					return hook.Contributions{PromptSections: sections("too late")}
				}}, after(0, "b")}).Recorded(nil)
				h := &heard{}
				got, err := added(t, c, turnOf(h))
				require.NoError(t, err)
				assert.Equal(t, []string{"B b"}, got)
				assert.Equal(t, []string{"A: PromptSections: broken", tt.failure}, h.errors())
				assert.Equal(t, tt.late, c.LateHooks())
				require.Len(t, h.runs, 2)
				assert.Equal(t, event.RunFailed, h.runs[0].Status, "the run is the hook's")
				assert.False(t, h.runs[0].Changed)
				time.Sleep(2 * time.Minute)
				assert.Zero(t, c.LateHooks())
			})
		})
	}
}

// A run whose fallback was used has failed and has an output.
func TestFallbackIsRecorded(t *testing.T) {
	for _, s := range []any{
		&struct{ A *prepared }{spare(breaks(func() {}), "spare")},
		&struct {
			A *prepared `hook:"PromptSections: parallel"`
		}{spare(breaks(func() {}), "spare")},
	} {
		h := &heard{}
		_, err := compose(t, s).Recorded(nil).PromptSections(t.Context(), turnOf(h))
		require.NoError(t, err)
		require.Len(t, h.runs, 1)
		assert.Equal(t, event.RunFailed, h.runs[0].Status)
		assert.True(t, h.runs[0].Changed)
		assert.Equal(t, event.Digest(sections("spare")), h.runs[0].Output)
	}
}

// The fallbacks of members of nested and layered composites and of groups count, with their full paths.
func TestFallbackInNestedAndLayered(t *testing.T) {
	core := compose(t, &struct {
		Deep  *prepared
		Extra []hook.Hook
	}{spare(breaks(func() {}), "deep"), []hook.Hook{spare(breaks(func() {}), "grouped")}})
	c := compose(t, &struct {
		Core hook.Hook
		Last *prepared `hook:"PromptSections: failclosed"`
	}{core, spare(breaks(func() {}), "last")})
	layer, err := composite.NewLayer("test", map[string]string{"Last": "PromptSections: failopen"})
	require.NoError(t, err)
	c, err = c.Layered(layer)
	require.NoError(t, err)
	got, err := added(t, c, turnOf(nil))
	require.NoError(t, err)
	assert.Equal(t, []string{"Core.Deep deep", "Core.Extra[0] grouped", "Last last"}, got)

	alone, err := composite.From(spare(breaks(func() {}), "alone"))
	require.NoError(t, err)
	got, err = added(t, alone, turnOf(nil))
	require.NoError(t, err)
	assert.Equal(t, []string{" alone"}, got)
}

// A contributor has five seconds if its tag does not say, a decider as long as it likes.
func TestContributorsHaveADefaultTimeout(t *testing.T) {
	for _, tt := range []struct {
		name, layer string
		c           func() *composite.Composite
		want        time.Duration
	}{
		{"default", "", func() *composite.Composite { return compose(t, &struct{ A *contributes }{after(time.Hour, "a")}) }, 5 * time.Second},
		{"parallel", "", func() *composite.Composite {
			return compose(t, &struct {
				A *contributes `hook:"PromptSections: parallel"`
			}{after(time.Hour, "a")})
		}, 5 * time.Second},
		{"tag", "", func() *composite.Composite {
			return compose(t, &struct {
				A *contributes `hook:"PromptSections: timeout=8s"`
			}{after(time.Hour, "a")})
		}, 8 * time.Second},
		{"none", "", func() *composite.Composite {
			return compose(t, &struct {
				A *contributes `hook:"PromptSections: timeout=none"`
			}{after(time.Hour, "a")})
		}, time.Hour},
		{"layer", "PromptSections: timeout=3s", func() *composite.Composite { return compose(t, &struct{ A *contributes }{after(time.Hour, "a")}) }, 3 * time.Second},
		{"layer without a limit", "PromptSections: timeout=none", func() *composite.Composite {
			return compose(t, &struct {
				A *contributes `hook:"PromptSections: timeout=8s"`
			}{after(time.Hour, "a")})
		}, time.Hour},
		{"group", "", func() *composite.Composite {
			return compose(t, &struct{ A []hook.Hook }{[]hook.Hook{after(time.Hour, "a")}})
		}, 5 * time.Second},
		{"single", "", func() *composite.Composite {
			c, err := composite.From(after(time.Hour, "a"))
			require.NoError(t, err)
			return c
		}, 5 * time.Second},
		{"nested, which is not bounded as a whole", "", func() *composite.Composite {
			return compose(t, &struct{ Core hook.Hook }{compose(t, &struct{ A, B *contributes }{after(time.Hour, "a"), after(time.Hour, "b")})})
		}, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tt.c()
				if tt.layer != "" {
					layer, err := composite.NewLayer("test", map[string]string{"A": tt.layer})
					require.NoError(t, err)
					c, err = c.Layered(layer)
					require.NoError(t, err)
				}
				began := time.Now()
				_, err := c.PromptSections(t.Context(), turnOf(nil))
				require.NoError(t, err)
				assert.Equal(t, tt.want, time.Since(began))
			})
		})
	}
	for p, info := range point.All() {
		if info.Kind == "contribute" {
			assert.Equal(t, 5*time.Second, info.Timeout, p)
		} else {
			assert.Zero(t, info.Timeout, p)
		}
	}
}

// A turn without contributors allocates nothing for them.
func TestNoContributorsCostNothing(t *testing.T) {
	c := compose(t, &struct{ A hook.Nop }{})
	turn, ctx := turnOf(nil), t.Context()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = c.TurnPolicy(ctx, turn)
		_, _ = c.PromptSections(ctx, turn)
	}))
}
