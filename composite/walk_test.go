package composite_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// log is what hooks of one test did, in order.
type log struct{ lines []string }

func (l *log) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// probe is a hook that logs what it is asked and fails where it is told to.
type probe struct {
	hook.Nop
	log    *log
	name   string
	tools  []string
	err    map[hook.Point]error // returned
	panics map[hook.Point]any   // panicked with
	say    hook.ToolDecision
}

func (p *probe) at(point hook.Point) error {
	p.log.add("%s.%s", p.name, point)
	if v, ok := p.panics[point]; ok {
		panic(v)
	}
	return p.err[point]
}

func (p *probe) Schema() []message.Tool {
	var out []message.Tool
	for _, t := range p.tools {
		out = append(out, message.Tool{Name: t})
	}
	return out
}

func (p *probe) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if !slices.Contains(p.tools, call.Name()) {
		return hook.Invocation{}, false
	}
	p.log.add("%s.Dispatch(%s)", p.name, call.Name())
	return hook.Bound(call.Args(), nil), true
}

func (p *probe) OnRegisterAgent(context.Context, *hook.AgentConfig) error {
	return p.at(point.OnRegisterAgent)
}
func (p *probe) OnUnregisterAgent(context.Context, *hook.AgentConfig) {
	_ = p.at(point.OnUnregisterAgent)
}
func (p *probe) OnEvent(context.Context, hook.Event) { _ = p.at(point.OnEvent) }
func (p *probe) OnOpen(context.Context, hook.Host) error {
	return p.at(point.OnOpen)
}
func (p *probe) OnClose(context.Context) error { return p.at(point.OnClose) }
func (p *probe) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	err := p.at(point.Preprocess)
	return message.TextInput(in.Text() + p.name), err
}
func (p *probe) RewriteArgs(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
	err := p.at(point.RewriteArgs)
	return args + message.JSON(p.name), err
}
func (p *probe) RewriteResult(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	err := p.at(point.RewriteResult)
	return message.TextResult(r.Text() + p.name), err
}
func (p *probe) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return p.say, p.at(point.BeforeTool)
}
func (p *probe) AfterTool(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
	return hook.OutcomeDecision{}, p.at(point.AfterTool)
}
func (p *probe) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	p.log.add("%s.in", p.name)
	if p.panics[point.WrapTool] == "before" {
		panic("before")
	}
	r := next.Run(ctx)
	p.log.add("%s.out", p.name)
	if p.panics[point.WrapTool] == "after" {
		panic("after")
	}
	return message.TextResult(r.Text() + p.name)
}
func (p *probe) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	if p.panics[point.WrapModel] == "call" {
		panic("call")
	}
	return func(yield func(message.Chunk, error) bool) {
		for c, err := range next.Stream(ctx) {
			c.Text += p.name
			if !yield(c, err) {
				return
			}
			if p.panics[point.WrapModel] == "stream" {
				panic("stream")
			}
		}
	}
}

// recorder is a host that keeps what is emitted.
type recorder struct {
	hook.NoHost
	events []hook.Event
}

func (r *recorder) Emit(_ context.Context, ev hook.Event) { r.events = append(r.events, ev) }

func (r *recorder) failures() []string {
	var out []string
	for _, ev := range r.events {
		out = append(out, ev.Text)
	}
	return out
}

func newCall(host hook.Host, tool string) *hook.ToolCall {
	conv := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &hook.AgentConfig{Name: "a"}, Host: host})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv})
	return hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(turn, 1, "m"), ID: "1", Tool: message.Tool{Name: tool}, Args: "{}"})
}

type three struct {
	A *probe
	B *probe `hook:"optional"`
	C *probe
}

func newThree(t *testing.T) (*three, *log, *composite.Composite) {
	t.Helper()
	l := new(log)
	s := &three{A: &probe{log: l, name: "A"}, B: &probe{log: l, name: "B"}, C: &probe{log: l, name: "C"}}
	c, err := composite.New(s)
	require.NoError(t, err)
	return s, l, c
}

func TestCompositeHasEveryPoint(t *testing.T) {
	typ := reflect.TypeFor[*composite.Composite]()
	for p := range point.All() {
		_, ok := typ.MethodByName(p.String())
		assert.True(t, ok, "composite.Composite has no %s: run go generate", p)
	}
}

func TestOrderOutwardAndInward(t *testing.T) {
	_, l, c := newThree(t)
	ctx, call := t.Context(), newCall(nil, "x")
	_, err := c.BeforeTool(ctx, call)
	require.NoError(t, err)
	_, err = c.AfterTool(ctx, call, hook.ToolOutcome{})
	require.NoError(t, err)
	assert.Equal(t, []string{"A.BeforeTool", "B.BeforeTool", "C.BeforeTool", "C.AfterTool", "B.AfterTool", "A.AfterTool"}, l.lines)

	args, err := c.RewriteArgs(ctx, call, "")
	require.NoError(t, err)
	assert.Equal(t, message.JSON("ABC"), args)
	result, err := c.RewriteResult(ctx, call, message.ToolResult{})
	require.NoError(t, err)
	assert.Equal(t, "CBA", result.Text())
}

func TestFirstBlockEndsTheGateAndNamesItsOwner(t *testing.T) {
	s, l, c := newThree(t)
	s.A.say = hook.AskTool("sure?")
	s.B.say = hook.DenyTool("no")
	d, err := c.BeforeTool(t.Context(), newCall(nil, "x"))
	require.NoError(t, err)
	assert.Equal(t, hook.Verdict{Kind: hook.AnswerDeny, Reason: "no", By: "B"}, d.Verdict())
	assert.Equal(t, []string{"A.BeforeTool", "B.BeforeTool"}, l.lines, "nobody is asked behind a deny")
}

func TestFailPolicies(t *testing.T) {
	type tagged struct {
		A *probe `hook:"BeforeTool: failopen; RewriteArgs: failopen; AfterTool: failopen"`
		B *probe
	}
	for _, how := range []string{"error", "panic"} {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s open=%t", how, open), func(t *testing.T) {
				l, host := new(log), new(recorder)
				s := &tagged{&probe{log: l, name: "A"}, &probe{log: l, name: "B"}}
				bad, path := s.A, "A"
				if !open {
					bad, path = s.B, "B"
				}
				for _, p := range []hook.Point{point.BeforeTool, point.RewriteArgs, point.AfterTool} {
					if how == "error" {
						bad.err = map[hook.Point]error{point.BeforeTool: errors.New("secret"), point.RewriteArgs: errors.New("secret"), point.AfterTool: errors.New("secret")}
					} else {
						bad.panics = map[hook.Point]any{p: "secret", point.BeforeTool: "secret", point.RewriteArgs: "secret", point.AfterTool: "secret"}
					}
				}
				c, err := composite.New(s)
				require.NoError(t, err)
				ctx, call := t.Context(), newCall(host, "x")
				before, err := c.BeforeTool(ctx, call)
				require.NoError(t, err)
				after, err := c.AfterTool(ctx, call, hook.ToolOutcome{})
				require.NoError(t, err)
				args, rewriteErr := c.RewriteArgs(ctx, call, "")
				assert.Len(t, l.lines, 6, "siblings are asked all the same")
				if open {
					assert.Zero(t, before)
					assert.Zero(t, after)
					require.NoError(t, rewriteErr)
					assert.Equal(t, message.JSON("B"), args)
					assert.Equal(t, []string{"A failed at BeforeTool", "A failed at AfterTool", "A failed at RewriteArgs"}, host.failures())
					return
				}
				assert.Equal(t, hook.AnswerDeny, before.Verdict().Kind)
				assert.Equal(t, hook.AnswerWithhold, after.Verdict().Kind)
				assert.Equal(t, path, before.Verdict().By)
				assert.NotContains(t, before.Verdict().Reason, "secret", "a model is not told the cause")
				var f *hook.Failure
				require.ErrorAs(t, rewriteErr, &f)
				assert.Equal(t, path, f.Subsystem)
				assert.Equal(t, how == "panic", f.Panic)
				assert.Empty(t, host.failures(), "what an answer carries is not emitted as well")
			})
		}
	}
}

func TestObserversAreToldWhateverBecomesOfTheOthers(t *testing.T) {
	s, l, c := newThree(t)
	s.A.panics = map[hook.Point]any{point.OnEvent: "x"}
	host := new(recorder)
	c.OnEvent(t.Context(), hook.Event{}.WithHost(host))
	assert.Equal(t, []string{"A.OnEvent", "B.OnEvent", "C.OnEvent"}, l.lines)
	assert.Equal(t, []string{"A failed at OnEvent"}, host.failures())
}

func TestRegisterUndoesInReverse(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		s, l, c := newThree(t)
		if how == "error" {
			s.C.err = map[hook.Point]error{point.OnRegisterAgent: errors.New("no")}
		} else {
			s.C.panics = map[hook.Point]any{point.OnRegisterAgent: "no"}
		}
		err := c.OnRegisterAgent(t.Context(), &hook.AgentConfig{})
		var f *hook.Failure
		require.ErrorAs(t, err, &f, how)
		assert.Equal(t, "C", f.Subsystem)
		assert.Equal(t, []string{"A.OnRegisterAgent", "B.OnRegisterAgent", "C.OnRegisterAgent", "B.OnUnregisterAgent", "A.OnUnregisterAgent"}, l.lines)
	}
}

func TestOpenUndoesAndCloseClosesAll(t *testing.T) {
	s, l, c := newThree(t)
	s.B.err = map[hook.Point]error{point.OnOpen: errors.New("no"), point.OnClose: errors.New("b")}
	s.A.err = map[hook.Point]error{point.OnClose: errors.New("a")}
	require.ErrorContains(t, c.OnOpen(t.Context(), nil), "B: OnOpen: no")
	assert.Equal(t, []string{"A.OnOpen", "B.OnOpen", "A.OnClose"}, l.lines)
	l.lines = nil
	err := c.OnClose(t.Context())
	require.ErrorContains(t, err, "B: OnClose: b")
	require.ErrorContains(t, err, "A: OnClose: a")
	assert.Equal(t, []string{"C.OnClose", "B.OnClose", "A.OnClose"}, l.lines)
}

func TestFailuresWhileUndoingKeepTheirPaths(t *testing.T) {
	l := new(log)
	bad := func(name string, points ...hook.Point) *probe {
		p := &probe{log: l, name: name, err: map[hook.Point]error{}}
		for _, at := range points {
			p.err[at] = errors.New(name)
		}
		return p
	}
	core, err := composite.New(&struct{ Extra []hook.Hook }{[]hook.Hook{bad("x", point.OnClose), bad("y", point.OnOpen)}})
	require.NoError(t, err)
	c, err := composite.New(&struct{ Core hook.Hook }{core})
	require.NoError(t, err)
	require.EqualError(t, c.OnOpen(t.Context(), nil), "Core.Extra[1]: OnOpen: y\nCore.Extra[0]: OnClose: x")
}

// innermost is what a chain of wraps surrounds.
type innermost struct{ log *log }

func (i innermost) Run(context.Context) message.ToolResult {
	i.log.add("run")
	return message.TextResult("r")
}

func TestWrapsNestTheFirstOutermost(t *testing.T) {
	_, l, c := newThree(t)
	r := c.WrapTool(t.Context(), newCall(nil, "x"), innermost{l})
	assert.Equal(t, "rCBA", r.Text())
	assert.Equal(t, []string{"A.in", "B.in", "C.in", "run", "C.out", "B.out", "A.out"}, l.lines)
}

func TestWrapThatPanics(t *testing.T) {
	t.Run("after next: its result stands", func(t *testing.T) {
		s, l, c := newThree(t)
		s.B.panics = map[hook.Point]any{point.WrapTool: "after"}
		host := new(recorder)
		r := c.WrapTool(t.Context(), newCall(host, "x"), innermost{l})
		assert.Equal(t, "rCA", r.Text())
		assert.Equal(t, []string{"B failed at WrapTool"}, host.failures())
	})
	t.Run("before next: an error result", func(t *testing.T) {
		s, l, c := newThree(t)
		s.C.panics = map[hook.Point]any{point.WrapTool: "before"}
		r := c.WrapTool(t.Context(), newCall(nil, "x"), innermost{l})
		assert.NotContains(t, l.lines, "run")
		assert.Equal(t, "C failed at WrapToolBA", r.Text(), "the outer wraps go on")
	})
	t.Run("open: as if it were not there", func(t *testing.T) {
		l := new(log)
		c, err := composite.New(&struct {
			A *probe `hook:"WrapTool: failopen"`
		}{&probe{log: l, name: "A", panics: map[hook.Point]any{point.WrapTool: "before"}}})
		require.NoError(t, err)
		r := c.WrapTool(t.Context(), newCall(nil, "x"), innermost{l})
		assert.Equal(t, "r", r.Text())
	})
}

// twoChunks is the stream of a model.
type twoChunks struct{}

func (twoChunks) Stream(context.Context) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Text: "1"}, nil) && yield(message.Chunk{Text: "2"}, nil)
	}
}

func read(s message.ModelStream) (texts []string, failed error) {
	for c, err := range s {
		if err != nil {
			return texts, err
		}
		texts = append(texts, c.Text)
	}
	return texts, nil
}

func TestWrapModel(t *testing.T) {
	s, _, c := newThree(t)
	ctx, step, next := t.Context(), newCall(nil, "x").Step(), twoChunks{}
	texts, err := read(c.WrapModel(ctx, step, message.ModelRequest{}, next))
	require.NoError(t, err)
	assert.Equal(t, []string{"1CBA", "2CBA"}, texts)

	for _, where := range []string{"call", "stream"} {
		s.B.panics = map[hook.Point]any{point.WrapModel: where}
		texts, err = read(c.WrapModel(ctx, step, message.ModelRequest{}, next))
		var f *hook.Failure
		require.ErrorAs(t, err, &f, where)
		assert.Equal(t, "B", f.Subsystem)
		assert.Len(t, texts, map[string]int{"call": 0, "stream": 1}[where])
	}
	assert.Panics(t, func() {
		s.B.panics = nil
		for range c.WrapModel(ctx, step, message.ModelRequest{}, next) {
			panic("the consumer's own")
		}
	})
}

func TestGroupsAndNestingAreContiguousBlocks(t *testing.T) {
	l := new(log)
	p := func(name string) *probe { return &probe{log: l, name: name} }
	inner, err := composite.New(&struct{ X, Y *probe }{p("X"), p("Y")})
	require.NoError(t, err)
	bad := p("E1")
	bad.panics = map[hook.Point]any{point.AfterTool: "x"}
	c, err := composite.New(&struct {
		A     *probe
		Core  hook.Hook
		Extra []hook.Hook
		Z     *probe
	}{p("A"), inner, []hook.Hook{p("E0"), nil, bad}, p("Z")})
	require.NoError(t, err)
	d, err := c.AfterTool(t.Context(), newCall(nil, "x"), hook.ToolOutcome{})
	require.NoError(t, err)
	assert.Equal(t, []string{"Z.AfterTool", "E1.AfterTool", "E0.AfterTool", "Y.AfterTool", "X.AfterTool", "A.AfterTool"}, l.lines)
	assert.Equal(t, "Extra[2]", d.Verdict().By)

	inner2, err := composite.New(&struct{ Guard *probe }{&probe{log: l, name: "G", say: hook.DenyTool("no")}})
	require.NoError(t, err)
	outer, err := composite.New(&struct{ Core hook.Hook }{inner2})
	require.NoError(t, err)
	before, err := outer.BeforeTool(t.Context(), newCall(nil, "x"))
	require.NoError(t, err)
	assert.Equal(t, "Core.Guard", before.Verdict().By)
}

func TestDispatchRoutesByOwner(t *testing.T) {
	l := new(log)
	run := &probe{log: l, name: "Run"}
	s := &struct {
		Run   *probe `hook:"dynamic"`
		Users *probe `hook:"prefix=users_"`
		OS    *probe
	}{run, &probe{log: l, name: "Users", tools: []string{"query"}}, &probe{log: l, name: "OS", tools: []string{"read"}}}
	c, err := composite.New(s)
	require.NoError(t, err)
	run.tools = []string{"read", "late"} // known only now; "read" is taken
	for _, tool := range []string{"read", "users_query", "late"} {
		_, ok := c.Dispatch(t.Context(), newCall(nil, tool))
		assert.True(t, ok, tool)
	}
	assert.Equal(t, []string{"OS.Dispatch(read)", "Users.Dispatch(query)", "Run.Dispatch(late)"}, l.lines)
	_, ok := c.Dispatch(t.Context(), newCall(nil, "query"))
	assert.False(t, ok, "the local name is not public")
	assert.Equal(t, "Users", c.Plan().Owner("users_query"))
}

func TestNewRefuses(t *testing.T) {
	l := new(log)
	tests := []struct {
		name string
		s    any
		want string
	}{
		{"no pointer", three{}, "pointer to a struct"},
		{"duplicate tool", &struct{ A, B *probe }{&probe{log: l, tools: []string{"x"}}, &probe{log: l, tools: []string{"x"}}}, `HG029: two fields of type *composite_test.probe need different prefixes: A and B both have the tool "x"`},
		{"cycle", &struct {
			A *probe `hook:"after=B"`
			B *probe `hook:"after=A"`
		}{}, "HG026: order cycle"},
		{"bad tag", &struct {
			A *probe `hook:"befor=B"`
		}{}, "did you mean"},
		{"tag on no hook", &struct {
			A int `hook:"optional"`
		}{}, "is no hook"},
		{"unexported hook", &struct{ a *probe }{}, "unexported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := composite.New(tt.s)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestReadyNamesWhatIsMissing(t *testing.T) {
	c, err := composite.New(&three{})
	require.NoError(t, err)
	require.ErrorContains(t, c.Ready(), "A, C")
	_, _, c = newThree(t)
	require.NoError(t, c.Ready())
}

func TestWithLeavesTheOldOneAsItIs(t *testing.T) {
	_, l, c := newThree(t)
	d, err := c.With("D", &probe{log: l, name: "D", tools: []string{"late"}}, plan.Options{Before: []string{"A"}})
	require.NoError(t, err)
	d.OnEvent(t.Context(), hook.Event{})
	assert.Equal(t, []string{"D.OnEvent", "A.OnEvent", "B.OnEvent", "C.OnEvent"}, l.lines)
	assert.Empty(t, c.Schema())
	_, err = d.With("E", &probe{log: l, tools: []string{"late"}}, plan.Options{})
	require.ErrorContains(t, err, "HG029")
}

// Putting Nop anywhere changes nothing.
func TestNopIsTheIdentity(t *testing.T) {
	with := func(at int) (*composite.Composite, *log) {
		l := new(log)
		fields := []composite.Field{
			{Name: "A", Hook: &probe{log: l, name: "A", tools: []string{"x"}, say: hook.AskTool("?")}},
			{Name: "B", Hook: &probe{log: l, name: "B", tools: []string{"y"}}},
		}
		if at >= 0 {
			fields = slices.Insert(fields, at, composite.Field{Name: "N", Hook: hook.Nop{}})
		}
		c, err := composite.Of("T", fields...)
		require.NoError(t, err)
		return c, l
	}
	play := func(c *composite.Composite, l *log) any {
		ctx, call := t.Context(), newCall(nil, "x")
		cfg := &hook.AgentConfig{Name: "a"}
		built, err1 := c.OnBuildAgent(ctx, *cfg)
		in, err2 := c.Preprocess(ctx, nil, message.TextInput("in"))
		before, _ := c.BeforeTool(ctx, call)
		args, err3 := c.RewriteArgs(ctx, call, "{}")
		_, owned := c.Dispatch(ctx, call)
		wrapped := c.WrapTool(ctx, call, innermost{l})
		err4 := c.OnRegisterAgent(ctx, cfg)
		c.OnUnregisterAgent(ctx, cfg)
		c.OnEvent(ctx, hook.Event{})
		return []any{built, in, before.Verdict(), args, owned, wrapped, c.Schema(), c.SystemPrompt(cfg), c.ScopedTools(cfg), c.Points(), err1, err2, err3, err4, l.lines}
	}
	want := play(with(-1))
	for at := range 3 {
		assert.Equal(t, want, play(with(at)))
	}
}

func TestScopesAndPromptsFollowTheOwner(t *testing.T) {
	c, err := composite.New(&struct {
		A *scoped
		B *scoped `hook:"prefix=b_"`
		G *scoped
	}{&scoped{tools: []string{"x", "y"}, scope: []string{"x", "stolen"}, line: "only x"}, &scoped{tools: []string{"q"}}, &scoped{}})
	require.NoError(t, err)
	cfg := &hook.AgentConfig{}
	scope := c.ScopedTools(cfg)
	assert.Equal(t, hook.Scope{Tools: []string{"x", "b_q"}, Line: "only x"}, scope, "a scope cannot widen")
	cfg.Tools = scope.Tools
	assert.Equal(t, "use [x]\n\nuse [b_q]\n\nuse []", c.SystemPrompt(cfg))
	cfg.Tools = []string{"x"}
	assert.Equal(t, "use [x]\n\nuse []", c.SystemPrompt(cfg), "no prompt without a tool in scope")
}

// scoped has tools, a scope over them and a prompt.
type scoped struct {
	hook.Nop
	tools, scope []string
	line         string
}

func (s *scoped) Schema() []message.Tool {
	var out []message.Tool
	for _, t := range s.tools {
		out = append(out, message.Tool{Name: t})
	}
	return out
}
func (s *scoped) ScopedTools(*hook.AgentConfig) hook.Scope {
	return hook.Scope{Tools: s.scope, Line: s.line}
}
func (s *scoped) SystemPrompt(cfg *hook.AgentConfig) string {
	var names []string
	for _, t := range s.tools {
		if name := cfg.ToolName(t); slices.Contains(cfg.Tools, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("use %v", names)
}

func TestBlameNamesTheOwner(t *testing.T) {
	c, err := composite.New(&struct{ A *angry }{&angry{}})
	require.NoError(t, err)
	defer func() {
		f, ok := recover().(*hook.Failure)
		require.True(t, ok)
		assert.Equal(t, "A", f.Subsystem)
		assert.Equal(t, point.SystemPrompt, f.Point)
	}()
	c.SystemPrompt(&hook.AgentConfig{})
}

type angry struct{ hook.Nop }

func (*angry) SystemPrompt(*hook.AgentConfig) string { panic("no") }

func TestReply(t *testing.T) {
	assert.Equal(t, message.TextResult("x"), composite.Reply("x", nil))
	assert.Equal(t, message.JSONResult(`{"A":"<b>"}`), composite.Reply(struct{ A string }{"<b>"}, nil))
	assert.Equal(t, message.TextResult("as is"), composite.Reply(message.TextResult("as is"), nil))
	assert.Equal(t, message.TextResult("ok"), composite.Done(nil))
	tests := []struct {
		err  error
		kind message.FailureKind
	}{
		{errors.New("x"), message.FailOperation},
		{fmt.Errorf("read: %w", &hook.ToolError{Kind: message.FailNotFound, Text: "no file"}), message.FailNotFound},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), message.FailTimeout},
		{context.Canceled, message.FailCancelled},
	}
	for _, tt := range tests {
		got := composite.Reply("", tt.err)
		assert.Equal(t, tt.kind, got.Failure)
		assert.Equal(t, tt.err.Error(), got.Text())
	}
	assert.Equal(t, message.FailOperation, composite.Reply(func() {}, nil).Failure)
}

func ExampleNew() {
	type Daemon struct {
		Guard hook.Hook
		Extra []hook.Hook
	}
	c, err := composite.New(&Daemon{
		Guard: point.BeforeToolFunc(func(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
			return hook.DenyTool("not today"), nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, _ := c.BeforeTool(context.Background(), hook.NewToolCall(hook.ToolCallData{}))
	fmt.Println(d.Verdict().By, d.Verdict().Kind, d.Verdict().Reason)
	// Output: Guard deny not today
}
