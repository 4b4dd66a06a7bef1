package hooktest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// asker calls one point of a hook that has it, with the values of a scene. The returned
// value is the hook's answer, or nil at an observer.
type asker struct {
	point hook.Point
	call  func(ctx context.Context, h hook.Hook, s *scene) (value any, err error)
}

func asks[P any](p hook.Point, call func(ctx context.Context, h P, s *scene) (any, error)) asker {
	return asker{p, func(ctx context.Context, h hook.Hook, s *scene) (any, error) {
		has, ok := h.(P)
		if !ok {
			return nil, nil // the rule "points-real" reports it
		}
		return call(ctx, has, s)
	}}
}

// streamed is the stream that a WrapModel returned.
type streamed struct {
	chunks []message.Chunk
	err    error
}

// ranTool is the result that a WrapTool returned, and how often it ran the tool.
type ranTool struct {
	result message.ToolResult
	times  int64
}

// patience is the time that an Approve gets in the kit. Then its context ends: there is
// no person to answer.
const patience = 20 * time.Millisecond

// askers returns those of all points within a turn, in the order of a turn: not of OnOpen
// and OnClose, nor of the facade's methods outside of a turn.
func askers() []asker {
	special := []asker{
		asks(point.Preprocess, func(ctx context.Context, h hook.Hook, s *scene) (any, error) {
			return h.Preprocess(ctx, s.turn, s.input)
		}),
		asks(point.WrapModel, askWrapModel),
		asks(point.Approve, askApprove),
		asks(point.WrapTool, askWrapTool),
	}
	all := slices.DeleteFunc(asked(), func(a asker) bool {
		return slices.ContainsFunc(special, func(s asker) bool { return s.point == a.point })
	})
	all = append(all, special...)
	slices.SortFunc(all, func(a, b asker) int { return cmp.Compare(a.place(), b.place()) })
	return all
}

// place is the position of the point in a turn. Preprocess, a method of hook.Hook, follows the start of the session.
func (a asker) place() int {
	if a.point == point.Preprocess {
		return 2*int(point.OnSessionStart) + 1
	}
	return 2 * int(a.point)
}

func askWrapModel(ctx context.Context, h hook.WrapModel, s *scene) (any, error) {
	var out streamed
	for c, err := range h.WrapModel(ctx, s.step, s.request, &modelEnd{s.reply}) {
		if out.err = err; err != nil {
			break
		}
		out.chunks = append(out.chunks, c)
	}
	return out, nil
}

func askApprove(ctx context.Context, h hook.Approve, s *scene) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := h.Approve(ctx, s.call, s.asked)
	if err != nil && ctx.Err() != nil {
		return hook.ApprovalDecision{}, nil // nobody had an answer
	}
	return d, err
}

func askWrapTool(ctx context.Context, h hook.WrapTool, s *scene) (any, error) {
	end := &toolEnd{result: s.outcome.Result}
	result := h.WrapTool(ctx, s.call, end)
	return ranTool{result, end.ran.Load()}, nil
}

// given returns the argument of type T that a hook gets at the point.
func given[T any](s *scene, p hook.Point) T {
	for _, v := range s.values(p) {
		if t, ok := v.(T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("hooktest: a scene has no %T", *new(T)))
}

func askersOf(h hook.Hook) []asker {
	var out []asker
	points := point.Of(h)
	for _, a := range askers() {
		if points.Has(a.point) || a.point == point.Preprocess {
			out = append(out, a)
		}
	}
	return out
}

// response is a hook's behaviour at a point.
type response struct {
	point    hook.Point
	value    any
	err      error
	panicked string
}

func (a asker) ask(ctx context.Context, h hook.Hook, s *scene) (out response) {
	out.point = a.point
	defer func() {
		if v := recover(); v != nil {
			out.panicked = fmt.Sprint(v)
		}
	}()
	out.value, out.err = a.call(ctx, h, s)
	return out
}

func (r response) same(o response) bool {
	return r.panicked == o.panicked && text(r.err) == text(o.err) && reflect.DeepEqual(r.value, o.value)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
