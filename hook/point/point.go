// Package point is generated from the points that package hook declares. It has a constant for each, the facts of its declaration
// ([Info]), and a function type that is a hook with this one point:
//
//	point.BeforeToolFunc(func(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) { … })
package point

import (
	"iter"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

//go:generate go run ../../gen/internal/pointgen point ..

// Info holds the facts of a point's declaration.
type Info struct {
	Name string
	// Kind is facade, contribute, rewrite, decide, wrap or observe.
	Kind string
	// Combine is the rule that combines the answers of several hooks: union, join, fold, gate, judge, first, nest or each.
	Combine string
	// Reverse: the last hook comes first.
	Reverse bool
	// Bracket: the point is one end of a pair, as OnOpen and OnClose are.
	Bracket bool
	// Closed is the default fail policy.
	Closed bool
	// Timeout is how long a hook may take if its tag does not say; 0 is no limit.
	Timeout time.Duration
	// Place is the name of the type of the point's place, ToolCall or Turn; "" for none.
	Place string
}

// InfoOf returns the facts of the point's declaration; zero for an unknown one.
func InfoOf(p hook.Point) Info {
	if int(p) >= len(infos) {
		return Info{}
	}
	return infos[p]
}

// Failed returns the answer that a closed fail policy gives for a failed decider; AnswerNone for no opinion.
func Failed(p hook.Point) hook.Answer {
	if int(p) >= len(failed) {
		return hook.AnswerNone
	}
	return failed[p]
}

// All yields all points, the methods of [hook.Hook] first, in the order of their
// declaration.
func All() iter.Seq2[hook.Point, Info] {
	return func(yield func(hook.Point, Info) bool) {
		for p, info := range infos {
			if p > 0 && !yield(hook.Point(p), info) {
				return
			}
		}
	}
}

// Set returns the set of the points.
func Set(points ...hook.Point) hook.PointSet {
	var s hook.PointSet
	for _, p := range points {
		s |= 1 << p
	}
	return s
}

// Of returns the points that h implements, without the methods of Hook. A
// *composite.Composite implements the interface of every point, so Of calls its method
// Points() hook.PointSet. A generated composite has no points until composite.From
// composes it. A nil hook has none.
func Of(h hook.Hook) hook.PointSet {
	if c, ok := h.(interface{ Points() hook.PointSet }); ok {
		return c.Points()
	}
	return implemented(h)
}
