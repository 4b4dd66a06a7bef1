package hook_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
)

func allPoints() []hook.Point {
	var out []hook.Point
	for p := range hook.Points() {
		out = append(out, p)
	}
	return out
}

func TestPointSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfDistinct(rapid.SampledFrom(allPoints()), rapid.ID).Draw(t, "a")
		b := rapid.SliceOfDistinct(rapid.SampledFrom(allPoints()), rapid.ID).Draw(t, "b")
		union := hook.SetOf(a...).With(hook.SetOf(b...))
		want := append(append([]hook.Point{}, a...), b...)
		slices.Sort(want)
		want = slices.Compact(want)
		assert.Equal(t, want, append([]hook.Point{}, slices.Collect(union.All())...))
		assert.Equal(t, len(want), union.Len())
		for _, p := range allPoints() {
			assert.Equal(t, slices.Contains(want, p), union.Has(p))
		}
	})
	assert.Zero(t, hook.SetOf().Len())
	assert.False(t, hook.SetOf(allPoints()...).Has(200), "no such point")
	for range hook.SetOf(allPoints()...).All() {
		break // stopping early must not panic
	}
}

func TestPointInfo(t *testing.T) {
	assert.Equal(t, hook.PointInfo{Name: "BeforeTool", Kind: "decide", Combine: "gate", Closed: true, Place: "ToolCall"}, hook.PointBeforeTool.Info())
	assert.Equal(t, "AfterTurn", hook.PointAfterTurn.String())
	assert.Equal(t, hook.PointInfo{}, hook.Point(0).Info())
	assert.Equal(t, hook.PointInfo{}, hook.Point(255).Info())
	points := allPoints()
	assert.Equal(t, hook.PointSchema, points[0])
	assert.LessOrEqual(t, int(points[len(points)-1]), 63, "a PointSet has 64 bits")
}

// claims is a composite: it has a method that none of its members has.
type claims struct {
	hook.Nop
	set hook.PointSet
}

func (c claims) Points() hook.PointSet { return c.set }

func (claims) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.ToolDecision{}, nil
}

func TestPointsOf(t *testing.T) {
	assert.Zero(t, hook.PointsOf(nil))
	assert.Zero(t, hook.PointsOf(hook.Nop{}), "Nop has no point")
	assert.Zero(t, hook.PointsOf(claims{}), "a composite is asked, whatever methods it has")
	only := hook.SetOf(hook.PointAfterTurn)
	assert.Equal(t, only, hook.PointsOf(claims{set: only}))
}

// everyFunc has one function adapter for each point, so that a point without one
// fails TestFuncsHaveTheirPoint.
func everyFunc() map[hook.Point]hook.Hook {
	return map[hook.Point]hook.Hook{
		hook.PointRewriteArgs:      hook.RewriteArgsFunc(nil),
		hook.PointBeforeTool:       hook.BeforeToolFunc(nil),
		hook.PointApprove:          hook.ApproveFunc(nil),
		hook.PointWrapTool:         hook.WrapToolFunc(nil),
		hook.PointRewriteResult:    hook.RewriteResultFunc(nil),
		hook.PointAfterTool:        hook.AfterToolFunc(nil),
		hook.PointRewriteRequest:   hook.RewriteRequestFunc(nil),
		hook.PointBeforeModel:      hook.BeforeModelFunc(nil),
		hook.PointWrapModel:        hook.WrapModelFunc(nil),
		hook.PointRewriteReply:     hook.RewriteReplyFunc(nil),
		hook.PointAfterModel:       hook.AfterModelFunc(nil),
		hook.PointAfterTurn:        hook.AfterTurnFunc(nil),
		hook.PointOnOpen:           hook.OnOpenFunc(nil),
		hook.PointOnSessionStart:   hook.OnSessionStartFunc(nil),
		hook.PointBeforeTurn:       hook.BeforeTurnFunc(nil),
		hook.PointTurnPolicy:       hook.TurnPolicyFunc(nil),
		hook.PointTurnContext:      hook.TurnContextFunc(nil),
		hook.PointRefineContext:    hook.RefineContextFunc(nil),
		hook.PointTurnTools:        hook.TurnToolsFunc(nil),
		hook.PointPromptSections:   hook.PromptSectionsFunc(nil),
		hook.PointBeforeStep:       hook.BeforeStepFunc(nil),
		hook.PointOnModelError:     hook.OnModelErrorFunc(nil),
		hook.PointOnInvalidTool:    hook.OnInvalidToolFunc(nil),
		hook.PointAfterStep:        hook.AfterStepFunc(nil),
		hook.PointOnStop:           hook.OnStopFunc(nil),
		hook.PointOnTurnError:      hook.OnTurnErrorFunc(nil),
		hook.PointBeforeCompaction: hook.BeforeCompactionFunc(nil),
		hook.PointAfterCompaction:  hook.AfterCompactionFunc(nil),
		hook.PointOnSessionEnd:     hook.OnSessionEndFunc(nil),
		hook.PointOnClose:          hook.OnCloseFunc(nil),
	}
}

func TestFuncsHaveTheirPoint(t *testing.T) {
	funcs := everyFunc()
	for p, info := range hook.Points() {
		if info.Kind == "facade" {
			continue
		}
		f, ok := funcs[p]
		if assert.True(t, ok, "%s has no adapter in this test", p) {
			assert.Equal(t, hook.SetOf(p), hook.PointsOf(f), "%sFunc", p)
		}
	}
}

func TestFuncsCallWhatTheyHold(t *testing.T) {
	deny := hook.DenyTool("no")
	h := hook.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return deny, nil })
	got, err := h.(hook.BeforeTool).BeforeTool(t.Context(), nil)
	assert.NoError(t, err)
	assert.Equal(t, deny, got)

	closed := 0
	c := hook.OnCloseFunc(func(context.Context) error { closed++; return nil })
	assert.NoError(t, c.(hook.OnClose).OnClose(t.Context()))
	assert.Equal(t, 1, closed)
}
