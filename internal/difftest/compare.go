package difftest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// Facade is what generated and dynamic composites have in common; the points
// beside it are asserted.
type Facade interface {
	hook.Hook
	Points() hook.PointSet
	Ready() error
	DispatchAll(context.Context, []composite.Call, *composite.DispatchOptions, func(int, composite.Completion)) []composite.Completion
}

// World is one composite with its own members, log and host.
type World struct {
	F    Facade
	Log  *Log
	Host *Recorder
}

// Recorder is a host that keeps what it is told.
type Recorder struct{ Lines []string }

// Emit implements hook.Host.
func (r *Recorder) Emit(_ context.Context, ev hook.Event) {
	d := ev.Detail()
	r.Lines = append(r.Lines, fmt.Sprintf("%s %s %s", ev.Kind, d.Subsystem, d.Point))
}

// chain is what wraps surround.
type chain struct{ log *Log }

func (c chain) WrapToolAt(context.Context, int) hook.ToolResult {
	c.log.Add("run")
	return hook.TextResult("result")
}

func (chain) WrapModelAt(context.Context, int) hook.ModelStream {
	return func(yield func(hook.Chunk, error) bool) {
		_ = yield(hook.Chunk{Text: "1"}, nil) && yield(hook.Chunk{Text: "2"}, nil)
	}
}

// Op is one call of a program.
type Op struct {
	// Name is that of the facade's method or of the point.
	Name string
	// Run returns what can be compared.
	Run func(w World, arg string) string
}

// In tells whether a composite with these points has the method.
func (o Op) In(points hook.PointSet) bool {
	for p := range hook.Points() {
		if p.String() == o.Name {
			return points.Has(p) || p.Info().Kind == "facade"
		}
	}
	return true
}

func (w World) places() (*hook.AgentConfig, *hook.Turn, *hook.Step) {
	cfg := hook.AgentConfig{Name: "agent"}.WithHost(w.Host)
	conv := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &cfg, Host: w.Host})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv, ID: "t"})
	return &cfg, turn, hook.NewStep(turn, 1, "m")
}

func (w World) call(tool string) *hook.ToolCall {
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

// guarded runs f; the Facade methods without an error panic with a *hook.Failure.
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

// Ops are all calls that there are.
func Ops() []Op {
	return []Op{
		{"Schema", func(w World, _ string) string {
			return guarded(func() string {
				var names []string
				for _, t := range w.F.Schema() {
					names = append(names, t.Name)
				}
				return fmt.Sprint(names)
			})
		}},
		{"SystemPrompt", func(w World, arg string) string {
			cfg, _, _ := w.places()
			if arg != "all" {
				cfg.Tools = []string{arg}
			}
			return guarded(func() string { return w.F.SystemPrompt(cfg) })
		}},
		{"ScopedTools", func(w World, _ string) string {
			cfg, _, _ := w.places()
			return guarded(func() string { return fmt.Sprintf("%#v", w.F.ScopedTools(cfg)) })
		}},
		{"OnBuildAgent", func(w World, _ string) string {
			cfg, _, _ := w.places()
			out, err := w.F.OnBuildAgent(context.Background(), *cfg)
			return fmt.Sprint(out.Instructions, err, failure(err))
		}},
		{"OnRegisterAgent", func(w World, _ string) string {
			cfg, _, _ := w.places()
			err := w.F.OnRegisterAgent(context.Background(), cfg)
			return fmt.Sprint(err, failure(err))
		}},
		{"OnUnregisterAgent", func(w World, _ string) string {
			cfg, _, _ := w.places()
			w.F.OnUnregisterAgent(context.Background(), cfg)
			return ""
		}},
		{"Preprocess", func(w World, arg string) string {
			_, turn, _ := w.places()
			out, err := w.F.Preprocess(context.Background(), turn, hook.TextInput(arg))
			return fmt.Sprint(out.Text(), err, failure(err))
		}},
		{"Dispatch", func(w World, arg string) string {
			inv, ok := w.F.Dispatch(context.Background(), w.call(arg))
			if !ok || inv.Runner() == nil {
				return fmt.Sprint(ok, inv.Args(), inv.Err())
			}
			call := composite.Call{Runner: inv.Runner(), Env: &hook.Env{}}
			done := w.F.DispatchAll(context.Background(), []composite.Call{call}, nil, nil)
			return fmt.Sprint(inv.Args(), done[0].Result.Text(), done[0].Outcome)
		}},
		{"OnEvent", func(w World, arg string) string {
			w.F.OnEvent(context.Background(), hook.Event{Text: arg}.WithHost(w.Host))
			return ""
		}},
		{"OnOpen", func(w World, _ string) string {
			err := w.F.(hook.OnOpen).OnOpen(context.Background(), w.Host)
			return fmt.Sprint(err, failure(err))
		}},
		{"OnClose", func(w World, _ string) string {
			err := w.F.(hook.OnClose).OnClose(context.Background())
			return fmt.Sprint(err, failure(err))
		}},
		{"RewriteArgs", func(w World, arg string) string {
			out, err := w.F.(hook.RewriteArgs).RewriteArgs(context.Background(), w.call(arg), hook.JSON(arg))
			return fmt.Sprint(out, err, failure(err))
		}},
		{"BeforeTool", func(w World, arg string) string {
			d, err := w.F.(hook.BeforeTool).BeforeTool(context.Background(), w.call(arg))
			return show(d.Verdict(), err, d.Grant(), d.Result().Text())
		}},
		{"Approve", func(w World, arg string) string {
			d, err := w.F.(hook.Approve).Approve(context.Background(), w.call(arg), hook.AskTool("?"))
			return show(d.Verdict(), err, d.Args())
		}},
		{"WrapTool", func(w World, arg string) string {
			r := w.F.(hook.WrapTool).WrapTool(context.Background(), w.call(arg), hook.NewToolNext(chain{w.Log}, 0))
			return fmt.Sprint(r.Text(), r.Failure)
		}},
		{"RewriteResult", func(w World, arg string) string {
			out, err := w.F.(hook.RewriteResult).RewriteResult(context.Background(), w.call(arg), hook.TextResult(arg))
			return fmt.Sprint(out.Text(), err, failure(err))
		}},
		{"AfterTool", func(w World, arg string) string {
			d, err := w.F.(hook.AfterTool).AfterTool(context.Background(), w.call(arg), hook.ToolOutcome{Outcome: hook.OutcomeExecuted})
			return show(d.Verdict(), err, d.Context().Slice())
		}},
		{"RewriteRequest", func(w World, arg string) string {
			_, _, step := w.places()
			out, err := w.F.(hook.RewriteRequest).RewriteRequest(context.Background(), step, hook.ModelRequest{System: arg})
			return fmt.Sprint(out.System, err, failure(err))
		}},
		{"BeforeModel", func(w World, arg string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.BeforeModel).BeforeModel(context.Background(), step, hook.ModelRequest{System: arg})
			return show(d.Verdict(), err, d.Reply().Model)
		}},
		{"WrapModel", func(w World, arg string) string {
			_, _, step := w.places()
			var out []string
			for c, err := range w.F.(hook.WrapModel).WrapModel(context.Background(), step, hook.ModelRequest{}, hook.NewModelNext(chain{w.Log}, 0)) {
				out = append(out, fmt.Sprint(c.Text, err, failure(err)))
				if arg == "late" {
					break
				}
			}
			return fmt.Sprint(out)
		}},
		{"RewriteReply", func(w World, arg string) string {
			_, _, step := w.places()
			out, err := w.F.(hook.RewriteReply).RewriteReply(context.Background(), step, hook.ModelReply{Model: arg})
			return fmt.Sprint(out.Model, err, failure(err))
		}},
		{"AfterModel", func(w World, arg string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.AfterModel).AfterModel(context.Background(), step, hook.ModelReply{Model: arg})
			return show(d.Verdict(), err)
		}},
		{"AfterTurn", func(w World, _ string) string {
			_, turn, _ := w.places()
			w.F.(hook.AfterTurn).AfterTurn(context.Background(), turn, hook.TurnOutcome{})
			return ""
		}},
		{"Points", func(w World, _ string) string { return fmt.Sprint(w.F.Points()) }},
		{"Ready", func(w World, _ string) string { return fmt.Sprint(w.F.Ready() == nil) }},
	}
}

// Differ runs one call on several composites and returns what is not as with the
// first: the answer, what the members did so far, or what the host was told; ""
// for nothing.
func Differ(o Op, arg string, first World, others ...World) string {
	want := o.Run(first, arg)
	for i, w := range others {
		got := o.Run(w, arg)
		switch {
		case want != got:
			return fmt.Sprintf("%d: %s(%s) answers\n\t%s\n\t%s", i, o.Name, arg, want, got)
		case !slices.Equal(first.Log.Lines(), w.Log.Lines()):
			return fmt.Sprintf("%d: %s(%s) calls\n\t%s\n\t%s", i, o.Name, arg, first.Log.Lines(), w.Log.Lines())
		case !slices.Equal(first.Host.Lines, w.Host.Lines):
			return fmt.Sprintf("%d: %s(%s) tells\n\t%s\n\t%s", i, o.Name, arg, first.Host.Lines, w.Host.Lines)
		}
	}
	return ""
}
