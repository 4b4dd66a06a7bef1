package difftest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	. "github.com/grapnel-go/grapnel/internal/difftest"
)

// facade is what the two kinds of composite have in common.
type facade interface {
	hook.Hook
	Points() hook.PointSet
	Ready() error
	hook.OnOpen
	hook.OnClose
	hook.RewriteArgs
	hook.BeforeTool
	hook.Approve
	hook.WrapTool
	hook.RewriteResult
	hook.AfterTool
	hook.RewriteRequest
	hook.BeforeModel
	hook.WrapModel
	hook.RewriteReply
	hook.AfterModel
	hook.AfterTurn
	DispatchAll(context.Context, []composite.Call, *composite.DispatchOptions, func(int, composite.Completion)) []composite.Completion
}

var (
	_ facade = (*Welded)(nil)
	_ facade = (*composite.Composite)(nil)
)

// twin is Welded for the dynamic composite, with a dynamic composite nested in it
// as well. The tags must be those of Welded.
type twin struct {
	First *Files    `hook:"optional; AfterTool: failopen"`
	Core  hook.Hook `hook:"prefix=core_"`
	Users *Notes    `hook:"prefix=users_; BeforeTool: failopen; RewriteArgs: failopen; WrapTool: failopen; WrapModel: failopen; Preprocess: failopen"`
	Front *Notes    `hook:"before=First"`
	Plain hook.Hook `hook:"prefix=plain_"`
	Quiet *Quiet    `hook:"optional"`
	Run   *Late     `hook:"dynamic"`
	Any   hook.Hook `hook:"optional"`
	Extra []hook.Hook
}

// script is the random part of a run: which members there are and what they do.
type script struct {
	first, quiet, any, extra bool
	broken                   bool
	say                      map[string]int
	do                       map[string]map[hook.Point]Mode
	names                    []string
}

var memberNames = []string{"First", "CoreGuard", "CoreNotes", "Users", "Front", "PlainGuard", "PlainNotes", "Quiet", "Run", "Any", "Extra0", "Extra2"}

// drawScript draws what members do; at the point of that name, if there is one, all of them may do something.
func drawScript(t *rapid.T, focus string) script {
	s := script{
		first: rapid.Bool().Draw(t, "first"), quiet: rapid.Bool().Draw(t, "quiet"),
		any: rapid.Bool().Draw(t, "any"), extra: rapid.Bool().Draw(t, "extra"), broken: rapid.IntRange(0, 9).Draw(t, "broken") == 9,
		say: map[string]int{}, do: map[string]map[hook.Point]Mode{},
		names: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"late", "read", "users_add", "other"}), 0, 3, rapid.ID).Draw(t, "run-time tools"),
	}
	var points []hook.Point
	for p := range hook.Points() {
		points = append(points, p)
	}
	for _, name := range memberNames {
		s.say[name] = rapid.IntRange(0, 29).Draw(t, "say")
		s.do[name] = map[hook.Point]Mode{}
		for range rapid.IntRange(0, 6).Draw(t, "loud points") {
			p := rapid.SampledFrom(points).Draw(t, "point")
			s.do[name][p] = rapid.SampledFrom([]Mode{Answers, Answers, Fails, Panics}).Draw(t, "mode")
		}
		for _, p := range points {
			if p.String() == focus {
				s.do[name][p] = rapid.SampledFrom([]Mode{Silent, Silent, Answers, Fails, Panics}).Draw(t, "mode")
			}
		}
	}
	return s
}

// world is one composite with its own members, log and host.
type world struct {
	f    facade
	log  *Log
	host *recorder
}

type recorder struct{ lines []string }

func (r *recorder) Emit(_ context.Context, ev hook.Event) {
	d := ev.Detail()
	r.lines = append(r.lines, fmt.Sprintf("%s %s %s", ev.Kind, d.Subsystem, d.Point))
}

func build(t require.TestingT, s script, generated func(*Welded) facade) (static, mixed, dynamic world) {
	weld := func() (*Welded, *Log) {
		l := new(Log)
		m := func(name string) Member { return Member{Name: name, Log: l, Say: s.say[name], Do: s.do[name]} }
		w := &Welded{
			Core:  &Core{Guard: &Files{m("CoreGuard")}, Notes: &Notes{m("CoreNotes")}},
			Users: &Notes{m("Users")}, Front: &Notes{m("Front")},
			Plain: Core{Guard: &Files{m("PlainGuard")}, Notes: &Notes{m("PlainNotes")}},
			Run:   &Late{Member: m("Run")},
		}
		if s.first {
			w.First = &Files{m("First")}
		}
		if s.quiet {
			w.Quiet = NewQuiet(m("Quiet"))
		}
		if s.any {
			w.Any = &Late{Member: m("Any"), Names: []string{"anything"}}
		}
		if s.extra {
			w.Extra = []hook.Hook{&Late{Member: m("Extra0")}, nil, &Late{Member: m("Extra2"), Names: []string{"late", "extra"}}}
		}
		return w, l
	}
	a, la := weld()
	static = world{generated(a), la, new(recorder)}

	b, lb := weld()
	c, err := composite.New(b)
	require.NoError(t, err)
	mixed = world{c, lb, new(recorder)}

	d, ld := weld()
	core, err := composite.New(d.Core)
	require.NoError(t, err)
	plain, err := composite.New(&d.Plain)
	require.NoError(t, err)
	e, err := composite.New(&twin{
		First: d.First, Core: core, Users: d.Users, Front: d.Front, Plain: plain, Quiet: d.Quiet, Run: d.Run, Any: d.Any, Extra: d.Extra,
	})
	require.NoError(t, err)
	dynamic = world{e, ld, new(recorder)}
	for _, w := range []*Welded{a, b, d} {
		w.Run.Names, w.Run.Broken = s.names, s.broken
	}
	return static, mixed, dynamic
}

// chain is what wraps surround.
type chain struct{ log *Log }

func (c chain) WrapToolAt(context.Context, int) hook.ToolResult {
	c.log.Lines = append(c.log.Lines, "run")
	return hook.TextResult("result")
}

func (chain) WrapModelAt(context.Context, int) hook.ModelStream {
	return func(yield func(hook.Chunk, error) bool) {
		_ = yield(hook.Chunk{Text: "1"}, nil) && yield(hook.Chunk{Text: "2"}, nil)
	}
}

// op is one call of a program; it returns what can be compared.
type op struct {
	name string
	run  func(w world, arg string) string
}

func (w world) places() (*hook.AgentConfig, *hook.Turn, *hook.Step) {
	cfg := hook.AgentConfig{Name: "agent"}.WithHost(w.host)
	conv := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &cfg, Host: w.host})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv, ID: "t"})
	return &cfg, turn, hook.NewStep(turn, 1, "m")
}

func (w world) call(tool string) *hook.ToolCall {
	_, _, step := w.places()
	return hook.NewToolCall(hook.ToolCallData{Step: step, ID: "1", Tool: hook.Tool{Name: tool}, Args: `{"path":"p"}`})
}

// show writes an answer with everything that hooks and runtime can see of it.
func show(v hook.Verdict, err error, more ...any) string {
	s := fmt.Sprintf("%s %q by %s, err %v, %v", v.Kind, v.Reason, v.By, err, more)
	if v.Failure != nil {
		s += fmt.Sprintf(", failure %v panic=%t", v.Failure, v.Failure.Panic)
	}
	return s + failure(err)
}

func failure(err error) string {
	var f *hook.Failure
	if errors.As(err, &f) {
		return fmt.Sprintf(" [%s at %s, panic=%t]", f.Subsystem, f.Point, f.Panic)
	}
	return ""
}

// guarded runs f; the facade methods without an error panic with a *hook.Failure.
func guarded(f func() string) (out string) {
	defer func() {
		if v := recover(); v != nil {
			err, ok := v.(error)
			if !ok {
				out = fmt.Sprintf("panic %v", v)
				return
			}
			out = "panic " + err.Error() + failure(err)
		}
	}()
	return f()
}

var ops = []op{
	{"Schema", func(w world, _ string) string {
		return guarded(func() string {
			var names []string
			for _, t := range w.f.Schema() {
				names = append(names, t.Name)
			}
			return fmt.Sprint(names)
		})
	}},
	{"SystemPrompt", func(w world, arg string) string {
		cfg, _, _ := w.places()
		if arg != "all" {
			cfg.Tools = []string{arg}
		}
		return guarded(func() string { return w.f.SystemPrompt(cfg) })
	}},
	{"ScopedTools", func(w world, _ string) string {
		cfg, _, _ := w.places()
		return guarded(func() string { return fmt.Sprintf("%#v", w.f.ScopedTools(cfg)) })
	}},
	{"OnBuildAgent", func(w world, _ string) string {
		cfg, _, _ := w.places()
		out, err := w.f.OnBuildAgent(context.Background(), *cfg)
		return fmt.Sprint(out.Instructions, err, failure(err))
	}},
	{"OnRegisterAgent", func(w world, _ string) string {
		cfg, _, _ := w.places()
		err := w.f.OnRegisterAgent(context.Background(), cfg)
		return fmt.Sprint(err, failure(err))
	}},
	{"OnUnregisterAgent", func(w world, _ string) string {
		cfg, _, _ := w.places()
		w.f.OnUnregisterAgent(context.Background(), cfg)
		return ""
	}},
	{"Preprocess", func(w world, arg string) string {
		_, turn, _ := w.places()
		out, err := w.f.Preprocess(context.Background(), turn, hook.TextInput(arg))
		return fmt.Sprint(out.Text(), err, failure(err))
	}},
	{"Dispatch", func(w world, arg string) string {
		inv, ok := w.f.Dispatch(context.Background(), w.call(arg))
		if !ok || inv.Runner() == nil {
			return fmt.Sprint(ok, inv.Args(), inv.Err())
		}
		call := composite.Call{Runner: inv.Runner(), Env: &hook.Env{}}
		done := w.f.DispatchAll(context.Background(), []composite.Call{call}, nil, nil)
		return fmt.Sprint(inv.Args(), done[0].Result.Text(), done[0].Outcome)
	}},
	{"OnEvent", func(w world, arg string) string {
		w.f.OnEvent(context.Background(), hook.Event{Text: arg}.WithHost(w.host))
		return ""
	}},
	{"OnOpen", func(w world, _ string) string {
		err := w.f.OnOpen(context.Background(), w.host)
		return fmt.Sprint(err, failure(err))
	}},
	{"OnClose", func(w world, _ string) string {
		err := w.f.OnClose(context.Background())
		return fmt.Sprint(err, failure(err))
	}},
	{"RewriteArgs", func(w world, arg string) string {
		out, err := w.f.RewriteArgs(context.Background(), w.call(arg), hook.JSON(arg))
		return fmt.Sprint(out, err, failure(err))
	}},
	{"BeforeTool", func(w world, arg string) string {
		d, err := w.f.BeforeTool(context.Background(), w.call(arg))
		return show(d.Verdict(), err, d.Grant(), d.Result().Text())
	}},
	{"Approve", func(w world, arg string) string {
		d, err := w.f.Approve(context.Background(), w.call(arg), hook.AskTool("?"))
		return show(d.Verdict(), err, d.Args())
	}},
	{"WrapTool", func(w world, arg string) string {
		r := w.f.WrapTool(context.Background(), w.call(arg), hook.NewToolNext(chain{w.log}, 0))
		return fmt.Sprint(r.Text(), r.Failure)
	}},
	{"RewriteResult", func(w world, arg string) string {
		out, err := w.f.RewriteResult(context.Background(), w.call(arg), hook.TextResult(arg))
		return fmt.Sprint(out.Text(), err, failure(err))
	}},
	{"AfterTool", func(w world, arg string) string {
		d, err := w.f.AfterTool(context.Background(), w.call(arg), hook.ToolOutcome{Outcome: hook.OutcomeExecuted})
		return show(d.Verdict(), err, d.Context().Slice())
	}},
	{"RewriteRequest", func(w world, arg string) string {
		_, _, step := w.places()
		out, err := w.f.RewriteRequest(context.Background(), step, hook.ModelRequest{System: arg})
		return fmt.Sprint(out.System, err, failure(err))
	}},
	{"BeforeModel", func(w world, arg string) string {
		_, _, step := w.places()
		d, err := w.f.BeforeModel(context.Background(), step, hook.ModelRequest{System: arg})
		return show(d.Verdict(), err, d.Reply().Model)
	}},
	{"WrapModel", func(w world, arg string) string {
		_, _, step := w.places()
		var out []string
		for c, err := range w.f.WrapModel(context.Background(), step, hook.ModelRequest{}, hook.NewModelNext(chain{w.log}, 0)) {
			out = append(out, fmt.Sprint(c.Text, err, failure(err)))
			if arg == "late" {
				break
			}
		}
		return fmt.Sprint(out)
	}},
	{"RewriteReply", func(w world, arg string) string {
		_, _, step := w.places()
		out, err := w.f.RewriteReply(context.Background(), step, hook.ModelReply{Model: arg})
		return fmt.Sprint(out.Model, err, failure(err))
	}},
	{"AfterModel", func(w world, arg string) string {
		_, _, step := w.places()
		d, err := w.f.AfterModel(context.Background(), step, hook.ModelReply{Model: arg})
		return show(d.Verdict(), err)
	}},
	{"AfterTurn", func(w world, _ string) string {
		_, turn, _ := w.places()
		w.f.AfterTurn(context.Background(), turn, hook.TurnOutcome{})
		return ""
	}},
	{"Points", func(w world, _ string) string { return fmt.Sprint(w.f.Points()) }},
	{"Ready", func(w world, _ string) string { return fmt.Sprint(w.f.Ready() == nil) }},
}

var args = []string{"read", "write", "add", "core_g_read", "core_add", "users_add", "plain_g_write", "hush", "late", "other", "anything", "extra", "nobody", "all"}

func TestEveryFacadeMethodAndPointIsCompared(t *testing.T) {
	have := map[string]bool{}
	for _, o := range ops {
		have[o.name] = true
	}
	for p := range hook.Points() {
		require.True(t, have[p.String()], "no operation calls %s", p)
	}
}

// The generated composite, the dynamic one over the same struct, and the dynamic
// one with dynamic ones nested in it answer every program alike.
func TestGeneratedAndDynamicAnswerAlike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { compare(rt, "", func(w *Welded) facade { return w }) })
}

// compare runs one random program, much of it about the method in focus. generated returns the composite that is on trial.
func compare(rt *rapid.T, focus string, generated func(*Welded) facade) {
	static, mixed, dynamic := build(rt, drawScript(rt, focus), generated)
	for range rapid.IntRange(1, 12).Draw(rt, "length") {
		o := rapid.SampledFrom(ops).Draw(rt, "op")
		if i := slices.IndexFunc(ops, func(o op) bool { return o.name == focus }); i >= 0 && rapid.Bool().Draw(rt, "focus") {
			o = ops[i]
		}
		arg := rapid.SampledFrom(args).Draw(rt, "arg")
		want := o.run(dynamic, arg)
		for _, w := range []struct {
			name string
			world
		}{{"generated", static}, {"dynamic over generated", mixed}} {
			require.Equal(rt, want, o.run(w.world, arg), "%s %s(%s)", w.name, o.name, arg)
			require.Equal(rt, dynamic.log.Lines, w.log.Lines, "%s %s(%s): calls", w.name, o.name, arg)
			require.Equal(rt, dynamic.host.lines, w.host.lines, "%s %s(%s): events", w.name, o.name, arg)
		}
	}
}
