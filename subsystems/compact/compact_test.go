package compact_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/compact"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return compact.New(nil) }, &hooktest.Options{
		Agent:  hook.AgentConfig{}.WithSection("compact", `{"share":0.7,"keep":0.1,"results":2,"model":"small"}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

// vendor is a model with a window. It counts three bytes as a token, refuses what is longer, and
// answers with reply.
type vendor struct {
	window   int
	reply    func(req message.ModelRequest) message.ModelStream
	requests []message.ModelRequest
	most     int
	refused  int
	// reports: replies report the usage.
	reports bool
}

func (v *vendor) tokens(req message.ModelRequest) int {
	n := len(req.System)
	for _, m := range req.Messages.All() {
		n += len(m.Text()) + len(m.Result.Text())
		for _, b := range m.Content.All() {
			n += len(b.JSON)
		}
	}
	for _, t := range req.Tools.Tools().All() {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return n / 3
}

func (v *vendor) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	v.requests = append(v.requests, req)
	n := v.tokens(req)
	if n > v.window {
		v.refused++
		return func(yield func(message.Chunk, error) bool) {
			yield(message.Chunk{}, &provider.Error{Class: message.FailureContext, Err: fmt.Errorf("%d tokens are more than %d", n, v.window)})
		}
	}
	v.most = max(v.most, n)
	return v.reply(req)
}

func isSummary(req message.ModelRequest) bool {
	return req.Messages.Len() > 0 && req.Messages.At(0).Label == message.LabelCompaction
}

func (v *vendor) says(req message.ModelRequest, text string) message.ModelStream {
	u := message.Usage{}
	if v.reports {
		u = message.Usage{Input: int64(v.tokens(req)), Output: int64(len(text) / 3)}
	}
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil) && yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop, Usage: u}, nil)
	}
}

func calls(name, args, id string) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range []message.Chunk{
			{Kind: message.ChunkCallStart, CallID: id, Tool: name}, {Kind: message.ChunkCallArgs, Text: args}, {Kind: message.ChunkCallEnd}, {Kind: message.ChunkFinish, Finish: message.FinishTools},
		} {
			if !yield(c, nil) {
				return
			}
		}
	}
}

type talk struct {
	t      *testing.T
	rt     *runtime.Runtime
	store  *mem.Store
	conv   *runtime.Conversation
	events []hook.Event
}

func newTalk(t *testing.T, v *vendor, o *compact.Options, cfg hook.AgentConfig, more ...hook.Hook) *talk {
	t.Helper()
	c := compact.New(o)
	w := &talk{t: t, store: mem.New(nil)}
	var h hook.Hook = c
	if len(more) > 0 {
		h = joined(t, c, more)
	}
	w.rt = runtime.New(h, v, &runtime.Options{Store: w.store})
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.rt.Close(context.WithoutCancel(t.Context()))) })
	cfg.Name, cfg.Model.Name = "x", "main"
	agent, err := w.rt.Register(t.Context(), cfg)
	require.NoError(t, err)
	w.conv, err = agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return w
}

func (w *talk) try(text string) (hook.TurnOutcome, error) {
	w.t.Helper()
	out, err := w.conv.Send(w.t.Context(), message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.events = append(w.events, ev) }})
	require.NoError(w.t, err)
	return out, out.Err
}

func (w *talk) send(text string) string {
	w.t.Helper()
	out, err := w.try(text)
	require.NoError(w.t, err)
	return out.Text()
}

func (w *talk) of(kind hook.EventKind) (out []hook.Event) {
	for _, ev := range w.events {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

func window(n int) hook.AgentConfig {
	return hook.AgentConfig{Model: message.Model{ContextWindow: n}}
}

// A conversation of 2,000 turns never exceeds a window of 8,000 tokens and never fails.
func TestAConversationGoesOnForWeeks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		told    int
		reports bool
		refused int
	}{
		{"a known window and usage", 8000, true, 0},
		{"a known window", 8000, false, 40},
		{"an unknown window", 0, true, 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := &vendor{window: 8000, reports: tc.reports}
			v.reply = func(req message.ModelRequest) message.ModelStream {
				if isSummary(req) {
					return v.says(req, "They went on."+strings.Repeat(" On and on.", 40))
				}
				return v.says(req, strings.Repeat("word ", 20+len(v.requests)%150))
			}
			w := newTalk(t, v, nil, window(tc.told))
			for i := range 2000 {
				_, err := w.try(fmt.Sprintf("turn %d: %s", i, strings.Repeat("more ", i%300)))
				require.NoError(t, err, "turn %d", i)
			}
			assert.LessOrEqual(t, v.most, 8000)
			assert.LessOrEqual(t, v.refused, tc.refused, "requests that the provider refused for their length")
			assert.Greater(t, v.most, 3000, "the window is used")
			archive, err := w.conv.Archive(t.Context())
			require.NoError(t, err)
			assert.Greater(t, len(archive), 3000, "everything is kept")
			assert.NotEmpty(t, w.of(event.CompactionAuto))
			t.Logf("FIGURE compactions=%d refused=%d most=%d of 8000 tokens", len(w.of(event.CompactionAuto)), v.refused, v.most)

		})
	}
}

// The provider counts more tokens than anybody expected.
func TestTheProvidersRefusalMakesRoom(t *testing.T) {
	t.Parallel()
	v := &vendor{window: 2000}
	v.reply = func(req message.ModelRequest) message.ModelStream {
		if isSummary(req) {
			return v.says(req, "Numbers were said.")
		}
		return v.says(req, strings.Repeat("one ", 150))
	}
	w := newTalk(t, v, nil, window(0))
	for i := range 30 {
		_, err := w.try(fmt.Sprint("turn ", i, strings.Repeat(" more", 100)))
		require.NoError(t, err, "turn %d", i)
	}
	assert.Positive(t, v.refused)
	assert.Contains(t, w.of(event.CompactionAuto)[0].Text, "the provider says")
}

// What alone exceeds the window fails with the provider's error.
func TestOneMessageMayBeTooLong(t *testing.T) {
	t.Parallel()
	v := &vendor{window: 2000}
	v.reply = func(req message.ModelRequest) message.ModelStream { return v.says(req, "ok") }
	w := newTalk(t, v, nil, window(2000))
	_, err := w.try(strings.Repeat("long ", 5000))
	require.ErrorContains(t, err, "tokens are more than 2000")
	assert.Equal(t, "ok", w.send("short"), "a later turn is shorter, because the long message is summed up")
}

type look struct {
	Name string `json:"name"`
}

func TestOldResultsGoBeforeOldTurns(t *testing.T) {
	t.Parallel()
	v, n := &vendor{window: 8000, reports: true}, 0
	v.reply = func(req message.ModelRequest) message.ModelStream {
		if last := req.Messages.At(req.Messages.Len() - 1); last.Role == message.RoleTool {
			return v.says(req, "done")
		}
		n++
		return calls("look", `{"name":"x"}`, fmt.Sprint("c", n))
	}
	h := tool.New("look", "Look looks.", func(context.Context, look) (string, error) { return strings.Repeat("r", 3000), nil }, nil)
	w := newTalk(t, v, nil, window(8000), tool.Set(h))
	for i := range 8 {
		require.Equal(t, "done", w.send(fmt.Sprint("turn ", i)))
	}
	assert.Empty(t, w.of(event.CompactionAuto), "no turn had to go")
	last := v.requests[len(v.requests)-1].Messages
	first, newest := last.At(2).Result.Text(), last.At(last.Len()-1).Result.Text()
	assert.Contains(t, first, "3000 bytes, is left out because the conversation has grown long. Call the tool again")
	assert.Len(t, newest, 3000)
	assert.LessOrEqual(t, v.most, 8000)
	history, err := w.store.Messages(t.Context(), w.conv.ID())
	require.NoError(t, err)
	assert.Len(t, history[2].Result.Text(), 3000, "the stored history has it")
	for i := 1; i < len(v.requests); i++ { // what is left out stays left out
		was, now := v.requests[i-1].Messages, v.requests[i].Messages
		for k := range min(was.Len(), now.Len()) {
			if strings.Contains(was.At(k).Result.Text(), "is left out") {
				assert.Contains(t, now.At(k).Result.Text(), "is left out")
			}
		}
	}
}

func TestASummaryIsChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		summaries []string
		has       []string
		asked     int
	}{
		{"complete at once", []string{"runtime/loop.go was changed. Open: write the changelog. Decided to use conc for calls."}, []string{"runtime/loop.go was changed."}, 1},
		{"complete when asked again", []string{"Work was done.", "loop.go changed; the changelog is to write; it was decided to use conc for calls."}, []string{"loop.go changed"}, 2},
		{"never complete", []string{"Work was done.", "Really."}, []string{"Really.", "Also named earlier:", "runtime/loop.go", "write the changelog", "Decision: use conc for calls"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, asked := &vendor{window: 100_000}, 0
			v.reply = func(req message.ModelRequest) message.ModelStream {
				if isSummary(req) {
					asked++
					if asked == 2 {
						assert.Contains(t, req.Messages.At(req.Messages.Len()-1).Text(), "runtime/loop.go", "it is told what is missing")
					}
					return v.says(req, tc.summaries[asked-1])
				}
				return v.says(req, "Decision: use conc for calls\n- [ ] write the changelog")
			}
			w := newTalk(t, v, nil, window(100_000))
			w.send("/pin the ship's name is Aurora")
			w.send("change runtime/loop.go")
			w.send("and?")
			assert.Contains(t, w.send("/compact the weather"), "messages are now a summary: about")
			assert.Equal(t, tc.asked, asked)
			history, err := w.store.Messages(t.Context(), w.conv.ID())
			require.NoError(t, err)
			for _, has := range append(tc.has, "Pinned by the user:\n- the ship's name is Aurora") {
				assert.Contains(t, history[0].Text(), has)
			}
			focused := false
			for _, req := range v.requests {
				focused = focused || isSummary(req) && strings.Contains(req.Messages.At(0).Text(), "Pay attention to this besides: the weather")
			}
			assert.True(t, focused, "the focus reaches the model")
		})
	}
}

func TestPins(t *testing.T) {
	t.Parallel()
	v := &vendor{window: 100_000}
	v.reply = func(req message.ModelRequest) message.ModelStream { return v.says(req, "ok") }
	w := newTalk(t, v, nil, window(100_000))
	for _, tc := range []struct{ line, says string }{
		{"/pins", "Nothing is pinned; /pin TEXT keeps a text in every summary."},
		{"/pin", "Nothing to pin: write /pin TEXT"},
		{"/pin use  tabs", "Pinned as 1: use tabs"},
		{"/pin never push", "Pinned as 2: never push"},
		{"/pin use tabs", "Pinned as 1: use tabs"},
		{"/pin " + strings.Repeat("x", 501), "The text has 501 bytes; pin at most 500."},
		{"/pins", "1. use tabs\n2. never push"},
		{"/unpin 3", "There is no pin \"3\". 1. use tabs\n2. never push"},
		{"/unpin 1", "Forgotten: use tabs"},
		{"/pins", "1. never push"},
		{"/pinned is another word", "ok"},
		{"what does /pin do?", "ok"},
	} {
		assert.Equal(t, tc.says, w.send(tc.line), tc.line)
	}
	for i := range 10 {
		_, _ = w.try(fmt.Sprint("/pin ", i, strings.Repeat("y", 490)))
	}
	assert.Contains(t, w.send("/pin "+strings.Repeat("z", 490)), "All pins together would have")
}

// No model can write the summary, and the turn does not fit without one.
func TestWithoutAModelTheSummaryIsWhatPeopleSaid(t *testing.T) {
	t.Parallel()
	v := &vendor{window: 3000}
	v.reply = func(req message.ModelRequest) message.ModelStream {
		if isSummary(req) {
			return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, errors.New("no summaries here")) }
		}
		return v.says(req, strings.Repeat("word ", 100))
	}
	w := newTalk(t, v, nil, window(3000))
	w.send("/pin the ship is Aurora")
	for i := range 60 {
		_, err := w.try(fmt.Sprint("turn ", i, strings.Repeat(" more", 50)))
		require.NoError(t, err, "turn %d", i)
	}
	history, err := w.store.Messages(t.Context(), w.conv.ID())
	require.NoError(t, err)
	assert.Contains(t, history[0].Text(), "No model could sum up the earlier turns")
	assert.Contains(t, history[0].Text(), "the ship is Aurora")
}

func TestSectionMistakes(t *testing.T) {
	t.Parallel()
	for section, says := range map[message.JSON]string{
		`{"share":1.5}`:    "share: 1.5; write a share of the window between 0 and 0.95",
		`{"clear":-1}`:     "clear: -1;",
		`{"keep":0.9}`:     "keep: 0.9 is not less than share, 0.8",
		`{"results":-1}`:   "results: -1; write a number",
		`{"window":"big"}`: "window",
	} {
		_, err := compact.New(nil).OnBuildAgent(t.Context(), hook.AgentConfig{Name: "x"}.WithSection("compact", section))
		require.ErrorContains(t, err, says)
		assert.True(t, strings.HasPrefix(err.Error(), `agent "x": section compact: `), err)
	}
}

func TestAnUnknownWindowIsSaid(t *testing.T) {
	t.Parallel()
	host := &hooktest.Recorder{}
	cfg := hook.AgentConfig{Name: "x", Model: message.Model{Name: "main"}}.WithHost(host)
	require.NoError(t, compact.New(nil).OnRegisterAgent(t.Context(), &cfg))
	require.Len(t, host.Events(), 1)
	assert.Equal(t, "compact: nobody knows the context window of the model main; 128000 tokens are assumed; set limits.context_window in the agent's file", host.Events()[0].Text)
}

// joined is a composite of the subsystem and others.
func joined(t *testing.T, c *compact.Compact, more []hook.Hook) hook.Hook {
	t.Helper()
	h, err := composite.New(&struct {
		Compact *compact.Compact
		More    []hook.Hook
	}{c, more})
	require.NoError(t, err)
	return h
}
