package composite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

// hears is a host that keeps the runs it is told of, and the order of all it is told.
type hears struct {
	hook.NoHost
	mu   sync.Mutex
	runs []hook.Run
	text []string
}

func (h *hears) Emit(_ context.Context, ev hook.Event) {
	data, err := json.Marshal(ev)
	if err != nil {
		panic(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, string(data))
	if r, ok := ev.Run(); ok {
		h.runs = append(h.runs, r)
	}
}

// took is how long each run has taken.
func (h *hears) took() []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []time.Duration
	for _, r := range h.runs {
		out = append(out, r.Duration)
	}
	return out
}

// lines are the runs as "path point status answer by reason".
func (h *hears) lines() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, r := range h.runs {
		words := []string{r.Subsystem, r.Point.String(), string(r.Status), string(r.Answer)}
		if r.By != "" {
			words = append(words, "by "+r.By)
		}
		if r.Changed {
			words = append(words, "changed")
		}
		if r.Reason != "" {
			words = append(words, fmt.Sprintf("%q", r.Reason))
		}
		out = append(out, strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " "))
	}
	return out
}

// recordedOf returns the recording composite of fields, and what hears of it.
func recordedOf(t *testing.T, fields ...composite.Field) (*composite.Composite, *hears) {
	t.Helper()
	c, err := composite.Of("test.Fields", fields...)
	require.NoError(t, err)
	return c.Recorded(nil), new(hears)
}

func field(name, tag string, h hook.Hook) composite.Field {
	options, problems := plan.ParseTag(tag, points())
	if problems != nil {
		panic(problems)
	}
	return composite.Field{Name: name, Hook: h, Options: options}
}

func points() []plan.Point {
	var out []plan.Point
	for _, info := range point.All() {
		out = append(out, plan.Point(info))
	}
	return out
}

func decides(d hook.ToolDecision, err error) hook.Hook {
	return point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return d, err })
}

func panics() hook.Hook {
	return point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { panic("secret cause") })
}

func TestRunsOfDeciders(t *testing.T) {
	cases := []struct {
		name   string
		fields []composite.Field
		want   []string
	}{
		{"silent, then an ask", []composite.Field{
			field("A", "", decides(hook.ToolDecision{}, nil)),
			field("B", "", decides(hook.AskTool("it writes"), nil)),
		}, []string{"A BeforeTool succeeded", `B BeforeTool succeeded ask "it writes"`}},
		{"a deny ends the gate", []composite.Field{
			field("A", "", decides(hook.DenyTool("not on Sundays"), nil)),
			field("B", "", decides(hook.AskTool(""), nil)),
			field("C", "", decides(hook.ToolDecision{}, nil)),
		}, []string{`A BeforeTool denied deny "not on Sundays"`, "B BeforeTool skipped by A", "C BeforeTool skipped by A"}},
		{"an error, closed", []composite.Field{
			field("A", "", decides(hook.ToolDecision{}, errors.New("secret cause"))),
			field("B", "", decides(hook.ToolDecision{}, nil)),
		}, []string{`A BeforeTool failed deny "A failed at BeforeTool"`, "B BeforeTool skipped by A"}},
		{"an error, open", []composite.Field{
			field("A", "BeforeTool: failopen", decides(hook.StopTool("its answer does not count"), errors.New("secret cause"))),
			field("B", "", decides(hook.ToolDecision{}, nil)),
		}, []string{`A BeforeTool failed "A failed at BeforeTool"`, "B BeforeTool succeeded"}},
		{"a panic, open", []composite.Field{
			field("A", "BeforeTool: failopen", panics()),
			field("B", "", decides(hook.ToolDecision{}, nil)),
		}, []string{`A BeforeTool panicked "A failed at BeforeTool"`, "B BeforeTool succeeded"}},
		{"what does not match is not told", []composite.Field{
			field("A", "match=tool:other", decides(hook.DenyTool(""), nil)),
			field("B", "", decides(hook.NarrowTool(hook.Grant{Root: "/"}), nil)),
		}, []string{"B BeforeTool succeeded narrow"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, host := recordedOf(t, c.fields...)
			_, err := h.BeforeTool(t.Context(), newCall(host, "bash"))
			require.NoError(t, err)
			assert.Equal(t, c.want, host.lines())
			assert.NotContains(t, strings.Join(host.text, "\n"), "secret")
			for _, r := range host.runs {
				assert.Equal(t, "1 bash", r.CallID+" "+r.Tool)
				if r.Status != event.RunSkipped {
					assert.Equal(t, event.Digest(message.JSON("{}")), r.Input)
					assert.False(t, r.Started.IsZero())
				}
			}
		})
	}
}

func TestRunsHaveFullPathsWhereverTheyHappen(t *testing.T) {
	deny := decides(hook.DenyTool("no"), nil)
	inner, err := composite.Of("test.Inner", field("Guard", "", decides(hook.ToolDecision{}, nil)), field("Notes", "", deny))
	require.NoError(t, err)
	behind, err := composite.Of("test.Behind", field("Last", "", deny))
	require.NoError(t, err)
	h, host := recordedOf(t,
		composite.Field{Name: "Group", Group: []hook.Hook{nil, decides(hook.ToolDecision{}, nil), hook.Nop{}}},
		field("Core", "", inner), field("Behind", "", behind))
	d, err := h.BeforeTool(t.Context(), newCall(host, "bash"))
	require.NoError(t, err)
	assert.Equal(t, "Core.Notes", d.Verdict().By)
	assert.Equal(t, []string{
		"Group[1] BeforeTool succeeded", "Core.Guard BeforeTool succeeded",
		`Core.Notes BeforeTool denied deny "no"`, "Behind.Last BeforeTool skipped by Core.Notes",
	}, host.lines())
}

// Whoever may see the runs of a nested composite at a point may see those of its
// members there that say nothing themselves.
func TestRunsAreAsVisibleAsTheirTagsSay(t *testing.T) {
	silent := decides(hook.ToolDecision{}, nil)
	inner, err := composite.Of("test.Inner", field("X", "", silent), field("Y", "BeforeTool: visibility=user", silent))
	require.NoError(t, err)
	h, host := recordedOf(t,
		field("A", "", silent), field("B", "BeforeTool: visibility=debug", silent), field("C", "AfterTool: visibility=user", both{}),
		field("Core", "BeforeTool: visibility=audit", inner), field("D", "BeforeTool: visibility=user", decides(hook.DenyTool("no"), nil)),
		field("E", "BeforeTool: visibility=audit", silent))
	_, err = h.BeforeTool(t.Context(), newCall(host, "bash"))
	require.NoError(t, err)
	got := map[string]hook.Visibility{}
	for _, r := range host.runs {
		got[r.Subsystem] = r.Visibility
	}
	assert.Equal(t, map[string]hook.Visibility{
		"A": "", "B": event.VisibleDebug, "C": "", "Core.X": event.VisibleAudit, "Core.Y": event.VisibleUser, "D": event.VisibleUser,
		"E": event.VisibleAudit,
	}, got, "one that was skipped too")
}

// both is a decider at two points.
type both struct{ hook.Nop }

func (both) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.ToolDecision{}, nil
}

func (both) AfterTool(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
	return hook.OutcomeDecision{}, nil
}

func TestRunsThatAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
			time.Sleep(time.Minute)
			return hook.StopTool("too late"), nil
		})
		inner, err := composite.Of("test.Inner", field("Slow", "", slow))
		require.NoError(t, err)
		h, host := recordedOf(t,
			field("A", "BeforeTool: timeout=2s,failopen", slow), field("Core", "BeforeTool: timeout=3s", inner),
			field("C", "", decides(hook.ToolDecision{}, nil)))
		_, err = h.BeforeTool(t.Context(), newCall(host, "bash"))
		require.NoError(t, err)
		want := []string{
			`A BeforeTool timed_out "A did not answer in time at BeforeTool"`,
			`Core BeforeTool timed_out deny "Core did not answer in time at BeforeTool"`, "C BeforeTool skipped by Core",
		}
		assert.Equal(t, want, host.lines())
		assert.Equal(t, []time.Duration{2 * time.Second, 3 * time.Second, 0}, host.took())
		time.Sleep(time.Hour) // the stray of a member that records itself is told when it is over
		assert.Equal(t, append(want, `Core.Slow BeforeTool denied stop "too late"`), host.lines())
	})
}

func TestRunsOfRewriters(t *testing.T) {
	rewrites := func(f func(message.JSON) (message.JSON, error)) hook.Hook {
		return point.RewriteArgsFunc(func(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) { return f(args) })
	}
	same := rewrites(func(j message.JSON) (message.JSON, error) { return j, nil })
	other := rewrites(func(message.JSON) (message.JSON, error) { return `{"a":1}`, nil })
	fails := rewrites(func(message.JSON) (message.JSON, error) { return "", errors.New("secret cause") })
	h, host := recordedOf(t,
		field("A", "", same), field("B", "", other), field("C", "RewriteArgs: failopen", fails), field("D", "", fails), field("E", "", same))
	_, err := h.RewriteArgs(t.Context(), newCall(host, "bash"), "{}")
	require.Error(t, err)
	assert.Equal(t, []string{
		"A RewriteArgs succeeded", "B RewriteArgs succeeded changed", `C RewriteArgs failed "C failed at RewriteArgs"`,
		`D RewriteArgs failed "D failed at RewriteArgs"`, "E RewriteArgs skipped by D",
	}, host.lines())
	before, after := event.Digest(message.JSON("{}")), event.Digest(message.JSON(`{"a":1}`))
	var hashes []string
	for _, r := range host.runs {
		hashes = append(hashes, r.Input, r.Output)
	}
	assert.Equal(t, []string{before, before, before, after, after, "", after, "", "", ""}, hashes)
}

func TestRunsOfACancelledTurnAreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h, host := recordedOf(t, field("A", "", point.BeforeToolFunc(func(ctx context.Context, _ *hook.ToolCall) (hook.ToolDecision, error) {
		cancel()
		return hook.ToolDecision{}, fmt.Errorf("waiting: %w", context.Cause(ctx))
	})))
	_, err := h.BeforeTool(ctx, newCall(host, "bash"))
	require.NoError(t, err)
	assert.Equal(t, []string{`A BeforeTool interrupted deny "A failed at BeforeTool"`}, host.lines())
}

// next is what a wrap surrounds.
type next struct{}

func (next) Run(context.Context) message.ToolResult {
	time.Sleep(time.Second)
	return message.TextResult("done")
}

func (next) Stream(context.Context) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		time.Sleep(time.Second)
		_ = yield(message.Chunk{Text: "1"}, nil) && yield(message.Chunk{Text: "2"}, nil)
	}
}

func TestRunsOfWrapsCoverWhatTheySurround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wraps := func(name string, panics any) *probe {
			return &probe{log: new(log), name: name, panics: map[hook.Point]any{point.WrapTool: panics, point.WrapModel: panics}}
		}
		h, host := recordedOf(t, field("A", "", wraps("a", nil)), field("B", "WrapTool: timeout=500ms", wraps("b", "after")),
			field("C", "WrapTool: timeout=500ms", wraps("c", nil)))
		h.WrapTool(t.Context(), newCall(host, "bash"), next{})
		assert.Equal(t, []string{
			"C WrapTool timed_out", `B WrapTool panicked "B failed at WrapTool"`, "A WrapTool succeeded",
		}, host.lines())
		assert.Equal(t, time.Second, host.runs[2].Duration)

		h, host = recordedOf(t, field("A", "", wraps("a", nil)), field("B", "WrapModel: failopen", wraps("b", "call")), field("C", "", wraps("c", "stream")))
		stream := h.WrapModel(t.Context(), newCall(host, "").Step(), message.ModelRequest{}, next{})
		assert.Empty(t, host.runs, "what is not over is not told")
		for range stream {
			time.Sleep(time.Second)
		}
		assert.Equal(t, []string{
			`B WrapModel panicked "B failed at WrapModel"`, `C WrapModel panicked "C failed at WrapModel"`, "A WrapModel succeeded",
		}, host.lines())
		assert.Equal(t, 3*time.Second, host.runs[2].Duration, "the stream with its consumer")
	})
}

func TestRunsOfContributors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		adds := func(after time.Duration, err error, blocks ...hook.ContextBlock) hook.Hook {
			return point.TurnContextFunc(func(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
				time.Sleep(after)
				return blocks, err
			})
		}
		block := hook.ContextBlock{Text: "secret recollection"}
		h, host := recordedOf(t,
			field("A", "TurnContext: parallel", adds(3*time.Second, nil, block)),
			field("B", "TurnContext: parallel,timeout=1s", adds(9*time.Second, nil, block)),
			field("C", "TurnContext: parallel", adds(2*time.Second, errors.New("secret cause"))),
			field("D", "", adds(time.Second, nil)), field("E", "", adds(0, nil, block)))
		_, err := h.TurnContext(t.Context(), newCall(host, "").Step().Turn())
		require.NoError(t, err)
		assert.Equal(t, []string{
			"D TurnContext succeeded", "E TurnContext succeeded changed", "A TurnContext succeeded changed",
			`B TurnContext timed_out "B did not answer in time at TurnContext"`, `C TurnContext failed "C failed at TurnContext"`,
		}, host.lines()[:5])
		assert.Equal(t, []time.Duration{time.Second, 0, 3 * time.Second, time.Second, 2 * time.Second}, host.took())
		assert.Equal(t, event.Digest([]hook.ContextBlock{block}), host.runs[1].Output)
		assert.NotContains(t, strings.Join(host.text, "\n"), "secret")
		time.Sleep(time.Minute) // until the stray is back
	})
}

// own is a composite one of whose methods its author has written.
type own struct {
	hook.Nop
	A hook.Hook
}

func (o *own) Compose() *composite.Composite {
	return composite.Compose(o, composite.Table{
		Type: "composite_test.own", Own: point.Set(point.BeforeTool), Rows: []composite.Row{{Field: "A", Type: "hook.Hook", Hook: o.A}},
	})
}

func (o *own) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	return composite.Members(o).BeforeTool(ctx, call)
}

// hidden is a composite whose member nobody outside its package sees.
type hidden struct {
	hook.Nop
	guard hook.Hook
}

func (h *hidden) Compose() *composite.Composite {
	return composite.Compose(h, composite.Table{Type: "composite_test.hidden", Rows: []composite.Row{{Field: "guard", Type: "hook.Hook", Hook: h.guard}}})
}

// embeds has all that the composite has which it embeds, and says something else.
type embeds struct{ *hidden }

func (embeds) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.StopTool("never asked"), nil
}

// from is the composite of a hook.
func from(t *testing.T, h hook.Hook) *composite.Composite {
	t.Helper()
	c, err := composite.From(h)
	require.NoError(t, err)
	return c
}

// TestFrom: whatever a runtime is given becomes a composite that can be recorded.
func TestFrom(t *testing.T) {
	deny := decides(hook.DenyTool("no"), nil)
	cases := []struct {
		name, by, path string
		hook           hook.Hook
	}{
		{"a function", "", "point.beforeToolFunc", deny},
		{"a composite with a method of its own", "A", "composite_test.own", &own{A: deny}},
		{"a composite with a hidden member", "guard", "guard", &hidden{guard: deny}},
		{"a subsystem", "", "composite_test.probe", &probe{log: new(log), say: hook.DenyTool("no")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			host := new(hears)
			h := from(t, c.hook).Recorded(nil)
			d, err := h.BeforeTool(t.Context(), newCall(host, "bash"))
			require.NoError(t, err)
			assert.Equal(t, c.by, d.Verdict().By, "the path is as without the recorder")
			assert.Equal(t, []string{c.path + ` BeforeTool denied deny "no"`}, host.lines())
			assert.Equal(t, from(t, c.hook).Points(), h.Points())

			outer, host := recordedOf(t, field("Core", "", c.hook))
			_, err = outer.BeforeTool(t.Context(), newCall(host, "bash"))
			require.NoError(t, err)
			path := "Core"
			if c.by == c.path && c.by != "" {
				path = "Core." + c.by
			}
			assert.Equal(t, []string{path + ` BeforeTool denied deny "no"`}, host.lines())
		})
	}
	assert.Zero(t, from(t, nil).Recorded(nil).Points())
}

// TestFromRefusesWhatOnlyEmbedsAComposite: its own methods would be called by nobody.
func TestFromRefusesWhatOnlyEmbedsAComposite(t *testing.T) {
	e := embeds{&hidden{guard: hook.Nop{}}}
	const why = "composite_test.embeds embeds composite_test.hidden, and its other methods would never be called; give composite_test.hidden a named field in a composite, or pass composite_test.hidden"
	_, err := composite.From(e)
	require.EqualError(t, err, why)
	_, err = composite.Of("test.Fields", field("A", "", e))
	require.EqualError(t, err, "composite test.Fields: A: "+why)
	require.ErrorContains(t, from(t, &own{A: e}).Ready(), "composite_test.own.A: "+why)
}

// TestLayersLeaveAuthorsMethodsAlone: they may count on all members.
func TestLayersLeaveAuthorsMethodsAlone(t *testing.T) {
	_, err := from(t, &own{A: decides(hook.DenyTool("no"), nil)}).Layered(layer(t, "user", map[string]string{"A": "off"}))
	require.ErrorContains(t, err, "HG056: user changes members of composite_test.own, but its hand-written BeforeTool may need all of them")
}

func TestRecordedTwiceIsRecordedOnce(t *testing.T) {
	h := from(t, decides(hook.DenyTool("no"), nil)).Recorded(nil)
	assert.Same(t, h, h.Recorded(nil))
}

func TestRunsOfOpeningAndClosing(t *testing.T) {
	l := new(log)
	a := &probe{log: l, name: "a"}
	b := &probe{log: l, name: "b", err: map[hook.Point]error{point.OnOpen: errors.New("secret cause")}}
	h, host := recordedOf(t, field("A", "", a), field("B", "", b), field("C", "", a))
	require.Error(t, h.OnOpen(t.Context(), host))
	assert.Equal(t, []string{"A OnOpen succeeded", `B OnOpen failed "B failed at OnOpen"`, "A OnClose succeeded"}, host.lines())

	h, _ = recordedOf(t, field("A", "", a))
	require.NoError(t, h.OnClose(t.Context()), "nobody was opened, nobody hears of it")
}

func TestTheClockIsTheOptions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	host := new(hears)
	h := from(t, decides(hook.ToolDecision{}, nil)).Recorded(&composite.RecordOptions{Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	_, err := h.BeforeTool(t.Context(), newCall(host, "bash"))
	require.NoError(t, err)
	assert.Equal(t, time.Second, host.runs[0].Duration)
	assert.Equal(t, now.Add(-time.Second), host.runs[0].Started)
}

// A composite that does not record costs the closures of its point and no more.
func TestNotRecordingAllocatesNothing(t *testing.T) {
	c, err := composite.Of("test.Fields", field("A", "", decides(hook.ToolDecision{}, nil)), field("B", "", decides(hook.ToolDecision{}, nil)))
	require.NoError(t, err)
	call := newCall(nil, "bash")
	ctx := t.Context()
	assert.LessOrEqual(t, allocs.PerRun(100, func() { _, _ = c.BeforeTool(ctx, call) }), 3.0)
}
