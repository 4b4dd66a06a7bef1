package differential

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/points"
)

// Ops returns all calls.
func Ops() []Op {
	return slices.Concat(agentOps(), turnOps(), askedOps(), wrapOps())
}

// askedOps are the calls at the points that one question does for.
func askedOps() []Op {
	var out []Op
	for p, info := range point.All() {
		if info.Kind == "facade" || info.Kind == "wrap" || info.Bracket {
			continue
		}
		out = append(out, Op{info.Name, func(w World, arg string) string {
			return written(points.Ask(context.Background(), w.F, p, points.Places(w.Host, arg, arg)...))
		}})
	}
	return out
}

// written returns everything of an answer that hooks and runtime can see.
func written(v any, err error) string {
	switch v := v.(type) {
	case nil:
		return ""
	case points.Decision:
		return show(v.Verdict(), err, payloads(v)...)
	}
	if text := points.Text(v); text != "" {
		return fmt.Sprint(text, err, failure(err))
	}
	return fmt.Sprintf("%+v %v%s", v, err, failure(err))
}

func payloads(d points.Decision) (out []any) {
	v := reflect.ValueOf(d)
	for i := range v.NumMethod() {
		if m := v.Type().Method(i); m.Type.NumIn() != 1 || m.Type.NumOut() != 1 || m.Name == "Verdict" {
			continue
		}
		switch got := v.Method(i).Call(nil)[0].Interface().(type) {
		case interface{ Slice() []string }:
			out = append(out, got.Slice())
		case message.ModelReply:
			out = append(out, got.Model)
		case message.ToolResult:
			out = append(out, got.Text())
		default:
			out = append(out, got)
		}
	}
	return append(out, d.Verdict().Stop)
}

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

// wrapOps are the calls that run something: a tool, by itself or within wraps, and a model within wraps.
func wrapOps() []Op {
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
		{"WrapTool", func(w World, arg string) string {
			r := w.F.(hook.WrapTool).WrapTool(context.Background(), w.call(arg), chain{w.Log})
			return fmt.Sprint(r.Text(), r.Failure)
		}},
		{"WrapModel", func(w World, arg string) string {
			_, _, step := w.places()
			var out []string
			for c, err := range w.F.(hook.WrapModel).WrapModel(context.Background(), step, message.ModelRequest{}, chain{w.Log}) {
				out = append(out, fmt.Sprint(c.Text, err, failure(err)))
				if arg == "late" {
					break
				}
			}
			return fmt.Sprint(out)
		}},
	}
}
