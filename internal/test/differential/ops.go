package differential

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Ops are all calls that there are.
func Ops() []Op {
	return slices.Concat(agentOps(), turnOps(), sessionOps(), contributedOps(), stepOps(), toolOps(), modelOps())
}

// agentOps are the calls about agents and prompts.
func agentOps() []Op {
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
	}
}

// turnOps are the calls about turns, events and the process.
func turnOps() []Op {
	return []Op{
		{"Preprocess", func(w World, arg string) string {
			_, turn, _ := w.places()
			out, err := w.F.Preprocess(context.Background(), turn, message.TextInput(arg))
			return fmt.Sprint(out.Text(), err, failure(err))
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
		{"AfterTurn", func(w World, _ string) string {
			_, turn, _ := w.places()
			w.F.(hook.AfterTurn).AfterTurn(context.Background(), turn, hook.TurnOutcome{})
			return ""
		}},
		{"Points", func(w World, _ string) string { return fmt.Sprint(w.F.Points()) }},
		{"Ready", func(w World, _ string) string { return fmt.Sprint(w.F.Ready() == nil) }},
		{"Members", func(w World, _ string) string {
			var paths []string
			for path, h := range w.F.Members() {
				paths = append(paths, fmt.Sprintf("%s %v", path, point.Of(h)))
			}
			return fmt.Sprint(paths)
		}},
	}
}

// toolOps are the calls about one tool call.
func toolOps() []Op {
	return []Op{
		{"Dispatch", func(w World, arg string) string {
			inv, ok := w.F.Dispatch(context.Background(), w.call(arg))
			if !ok || inv.Runner() == nil {
				return fmt.Sprint(ok, inv.Args(), inv.Err())
			}
			call := composite.Call{Runner: inv.Runner(), Env: &hook.Env{}}
			done := w.F.DispatchAll(context.Background(), []composite.Call{call}, nil, nil)
			return fmt.Sprint(inv.Args(), done[0].Result.Text(), done[0].Outcome)
		}},
		{"RewriteArgs", func(w World, arg string) string {
			out, err := w.F.(hook.RewriteArgs).RewriteArgs(context.Background(), w.call(arg), message.JSON(arg))
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
			out, err := w.F.(hook.RewriteResult).RewriteResult(context.Background(), w.call(arg), message.TextResult(arg))
			return fmt.Sprint(out.Text(), err, failure(err))
		}},
		{"AfterTool", func(w World, arg string) string {
			d, err := w.F.(hook.AfterTool).AfterTool(context.Background(), w.call(arg), hook.ToolOutcome{Outcome: hook.OutcomeExecuted})
			return show(d.Verdict(), err, d.Context().Slice())
		}},
	}
}

// modelOps are the calls about one request to the model.
func modelOps() []Op {
	return []Op{
		{"RewriteRequest", func(w World, arg string) string {
			_, _, step := w.places()
			out, err := w.F.(hook.RewriteRequest).RewriteRequest(context.Background(), step, message.ModelRequest{System: arg})
			return fmt.Sprint(out.System, err, failure(err))
		}},
		{"BeforeModel", func(w World, arg string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.BeforeModel).BeforeModel(context.Background(), step, message.ModelRequest{System: arg})
			return show(d.Verdict(), err, d.Reply().Model)
		}},
		{"WrapModel", func(w World, arg string) string {
			_, _, step := w.places()
			var out []string
			for c, err := range w.F.(hook.WrapModel).WrapModel(context.Background(), step, message.ModelRequest{}, hook.NewModelNext(chain{w.Log}, 0)) {
				out = append(out, fmt.Sprint(c.Text, err, failure(err)))
				if arg == "late" {
					break
				}
			}
			return fmt.Sprint(out)
		}},
		{"RewriteReply", func(w World, arg string) string {
			_, _, step := w.places()
			out, err := w.F.(hook.RewriteReply).RewriteReply(context.Background(), step, message.ModelReply{Model: arg})
			return fmt.Sprint(out.Model, err, failure(err))
		}},
		{"AfterModel", func(w World, arg string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.AfterModel).AfterModel(context.Background(), step, message.ModelReply{Model: arg})
			return show(d.Verdict(), err)
		}},
	}
}
