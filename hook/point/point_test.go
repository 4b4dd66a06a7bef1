package point_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

func allPoints() []hook.Point {
	var out []hook.Point
	for p := range point.All() {
		out = append(out, p)
	}
	return out
}

func TestPointSet(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		a := rapid.SliceOfDistinct(rapid.SampledFrom(allPoints()), rapid.ID).Draw(t, "a")
		b := rapid.SliceOfDistinct(rapid.SampledFrom(allPoints()), rapid.ID).Draw(t, "b")
		union := point.Set(a...).With(point.Set(b...))
		want := append(append([]hook.Point{}, a...), b...)
		slices.Sort(want)
		want = slices.Compact(want)
		assert.Equal(t, want, append([]hook.Point{}, slices.Collect(union.All())...))
		assert.Equal(t, len(want), union.Len())
		for _, p := range allPoints() {
			assert.Equal(t, slices.Contains(want, p), union.Has(p))
		}
	})
	assert.Zero(t, point.Set().Len())
	assert.False(t, point.Set(allPoints()...).Has(200), "no such point")
	for range point.Set(allPoints()...).All() {
		break // stopping early must not panic
	}
}

func TestPointInfo(t *testing.T) {
	assert.Equal(t, point.Info{Name: "BeforeTool", Kind: "decide", Combine: "gate", Closed: true, Place: "ToolCall"}, point.InfoOf(point.BeforeTool))
	assert.Equal(t, "AfterTurn", point.AfterTurn.String())
	assert.Equal(t, point.Info{}, point.InfoOf(hook.Point(0)))
	assert.Equal(t, point.Info{}, point.InfoOf(hook.Point(255)))
	points := allPoints()
	assert.Equal(t, point.Schema, points[0])
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
	assert.Zero(t, point.Of(nil))
	assert.Zero(t, point.Of(hook.Nop{}), "Nop has no point")
	assert.Zero(t, point.Of(claims{}), "a composite is asked, whatever methods it has")
	only := point.Set(point.AfterTurn)
	assert.Equal(t, only, point.Of(claims{set: only}))
}

func TestFuncsHaveTheirPoint(t *testing.T) {
	for p, f := range map[hook.Point]hook.Hook{
		point.OnOpen: point.OnOpenFunc(nil), point.TurnContext: point.TurnContextFunc(nil), point.RewriteArgs: point.RewriteArgsFunc(nil),
		point.BeforeTool: point.BeforeToolFunc(nil), point.WrapTool: point.WrapToolFunc(nil), point.AfterTurn: point.AfterTurnFunc(nil),
	} {
		assert.Equal(t, point.Set(p), point.Of(f), "%sFunc", p)
	}
}

func TestFuncsCallWhatTheyHold(t *testing.T) {
	deny := hook.DenyTool("no")
	h := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return deny, nil })
	got, err := h.(hook.BeforeTool).BeforeTool(t.Context(), nil)
	assert.NoError(t, err)
	assert.Equal(t, deny, got)

	closed := 0
	c := point.OnCloseFunc(func(context.Context) error { closed++; return nil })
	assert.NoError(t, c.(hook.OnClose).OnClose(t.Context()))
	assert.Equal(t, 1, closed)
}
