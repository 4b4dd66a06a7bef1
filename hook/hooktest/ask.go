package hooktest

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// asker calls one point of a hook that has it, with the views of a scene. The value
// is what the hook answered, or nil at an observer.
type asker struct {
	point hook.Point
	call  func(ctx context.Context, h hook.Hook, s *scene) (value any, err error)
}

func asks[P any](p hook.Point, call func(ctx context.Context, h P, s *scene) (any, error)) asker {
	return asker{p, func(ctx context.Context, h hook.Hook, s *scene) (any, error) {
		has, ok := h.(P)
		if !ok {
			return nil, nil // the rule "points-real" says so
		}
		return call(ctx, has, s)
	}}
}

// streamed is what a WrapModel made of the answer.
type streamed struct {
	chunks []hook.Chunk
	err    error
}

// ranTool is what a WrapTool made of the result, and how often it ran the tool.
type ranTool struct {
	result hook.ToolResult
	times  int64
}

// askers are those of all points in a turn, in the order of a turn; OnOpen and
// OnClose are not among them, nor is what the facade answers outside of a turn.
func askers() []asker { return append(append(askersOfTurn(), askersOfStep()...), askersOfEnd()...) }

func askersOfTurn() []asker {
	return []asker{
		asks(hook.PointOnSessionStart, func(ctx context.Context, h hook.OnSessionStart, s *scene) (any, error) {
			return h.OnSessionStart(ctx, s.session)
		}),
		asks(hook.PointPreprocess, func(ctx context.Context, h hook.Hook, s *scene) (any, error) {
			return h.Preprocess(ctx, s.turn, s.input)
		}),
		asks(hook.PointBeforeTurn, func(ctx context.Context, h hook.BeforeTurn, s *scene) (any, error) {
			return h.BeforeTurn(ctx, s.turn, s.input)
		}),
		asks(hook.PointTurnPolicy, func(ctx context.Context, h hook.TurnPolicy, s *scene) (any, error) {
			return h.TurnPolicy(ctx, s.turn)
		}),
		asks(hook.PointTurnContext, func(ctx context.Context, h hook.TurnContext, s *scene) (any, error) {
			return h.TurnContext(ctx, s.turn)
		}),
		asks(hook.PointRefineContext, func(ctx context.Context, h hook.RefineContext, s *scene) (any, error) {
			return h.RefineContext(ctx, s.turn)
		}),
		asks(hook.PointTurnTools, func(ctx context.Context, h hook.TurnTools, s *scene) (any, error) {
			return h.TurnTools(ctx, s.turn)
		}),
		asks(hook.PointPromptSections, func(ctx context.Context, h hook.PromptSections, s *scene) (any, error) {
			return h.PromptSections(ctx, s.turn)
		}),
		asks(hook.PointBeforeStep, func(ctx context.Context, h hook.BeforeStep, s *scene) (any, error) {
			return h.BeforeStep(ctx, s.step)
		}),
		asks(hook.PointRewriteRequest, func(ctx context.Context, h hook.RewriteRequest, s *scene) (any, error) {
			return h.RewriteRequest(ctx, s.step, s.request)
		}),
		asks(hook.PointBeforeModel, func(ctx context.Context, h hook.BeforeModel, s *scene) (any, error) {
			return h.BeforeModel(ctx, s.step, s.request)
		}),
		asks(hook.PointWrapModel, func(ctx context.Context, h hook.WrapModel, s *scene) (any, error) {
			var out streamed
			for c, err := range h.WrapModel(ctx, s.step, s.request, hook.NewModelNext(&modelEnd{s.reply}, 0)) {
				if out.err = err; err != nil {
					break
				}
				out.chunks = append(out.chunks, c)
			}
			return out, nil
		}),
		asks(hook.PointOnModelError, func(ctx context.Context, h hook.OnModelError, s *scene) (any, error) {
			return h.OnModelError(ctx, s.step, s.failure)
		}),
		asks(hook.PointRewriteReply, func(ctx context.Context, h hook.RewriteReply, s *scene) (any, error) {
			return h.RewriteReply(ctx, s.step, s.reply)
		}),
		asks(hook.PointAfterModel, func(ctx context.Context, h hook.AfterModel, s *scene) (any, error) {
			return h.AfterModel(ctx, s.step, s.reply)
		}),
	}
}

// patience is how long a person takes in the kit: an Approve that waits for one is
// told that the turn is over.
const patience = 20 * time.Millisecond

func askersOfStep() []asker {
	return []asker{
		asks(hook.PointOnInvalidTool, func(ctx context.Context, h hook.OnInvalidTool, s *scene) (any, error) {
			return h.OnInvalidTool(ctx, s.step, s.invalid)
		}),
		asks(hook.PointRewriteArgs, func(ctx context.Context, h hook.RewriteArgs, s *scene) (any, error) {
			return h.RewriteArgs(ctx, s.call, s.call.Args())
		}),
		asks(hook.PointBeforeTool, func(ctx context.Context, h hook.BeforeTool, s *scene) (any, error) {
			return h.BeforeTool(ctx, s.call)
		}),
		asks(hook.PointApprove, func(ctx context.Context, h hook.Approve, s *scene) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			d, err := h.Approve(ctx, s.call, s.asked)
			if err != nil && ctx.Err() != nil {
				return hook.ApprovalDecision{}, nil // nobody had an answer
			}
			return d, err
		}),
		asks(hook.PointWrapTool, func(ctx context.Context, h hook.WrapTool, s *scene) (any, error) {
			end := &toolEnd{result: s.outcome.Result}
			result := h.WrapTool(ctx, s.call, hook.NewToolNext(end, 0))
			return ranTool{result, end.ran.Load()}, nil
		}),
		asks(hook.PointRewriteResult, func(ctx context.Context, h hook.RewriteResult, s *scene) (any, error) {
			return h.RewriteResult(ctx, s.call, s.outcome.Result)
		}),
		asks(hook.PointAfterTool, func(ctx context.Context, h hook.AfterTool, s *scene) (any, error) {
			return h.AfterTool(ctx, s.call, s.outcome)
		}),
		asks(hook.PointAfterStep, func(ctx context.Context, h hook.AfterStep, s *scene) (any, error) {
			return h.AfterStep(ctx, s.step, s.stepEnd)
		}),
	}
}

func askersOfEnd() []asker {
	return []asker{
		asks(hook.PointOnStop, func(ctx context.Context, h hook.OnStop, s *scene) (any, error) {
			return h.OnStop(ctx, s.turn, s.stopping)
		}),
		asks(hook.PointOnTurnError, func(ctx context.Context, h hook.OnTurnError, s *scene) (any, error) {
			return h.OnTurnError(ctx, s.turn, s.failed)
		}),
		asks(hook.PointAfterTurn, func(ctx context.Context, h hook.AfterTurn, s *scene) (any, error) {
			h.AfterTurn(ctx, s.turn, s.ended)
			return nil, nil
		}),
		asks(hook.PointBeforeCompaction, func(ctx context.Context, h hook.BeforeCompaction, s *scene) (any, error) {
			return h.BeforeCompaction(ctx, s.conversation, s.compaction)
		}),
		asks(hook.PointAfterCompaction, func(ctx context.Context, h hook.AfterCompaction, s *scene) (any, error) {
			h.AfterCompaction(ctx, s.conversation, s.compacted)
			return nil, nil
		}),
		asks(hook.PointOnSessionEnd, func(ctx context.Context, h hook.OnSessionEnd, s *scene) (any, error) {
			h.OnSessionEnd(ctx, s.session)
			return nil, nil
		}),
	}
}

// askersOf returns those of the points that the hook has.
func askersOf(h hook.Hook) []asker {
	var out []asker
	points := hook.PointsOf(h)
	for _, a := range askers() {
		if points.Has(a.point) || a.point == hook.PointPreprocess {
			out = append(out, a)
		}
	}
	return out
}

// said is how a hook behaved at a point.
type said struct {
	point    hook.Point
	value    any
	err      error
	panicked string
}

// ask calls the point and recovers a panic.
func (a asker) ask(ctx context.Context, h hook.Hook, s *scene) (out said) {
	out.point = a.point
	defer func() {
		if v := recover(); v != nil {
			out.panicked = fmt.Sprint(v)
		}
	}()
	out.value, out.err = a.call(ctx, h, s)
	return out
}

// same reports whether the hook behaved the same twice.
func (s said) same(o said) bool {
	return s.panicked == o.panicked && text(s.err) == text(o.err) && reflect.DeepEqual(s.value, o.value)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
