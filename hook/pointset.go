package hook

import (
	"iter"
	"math/bits"
)

// Point names a method of [Hook] or a point beside it. The constants are
// generated from the declarations.
type Point uint8

// PointInfo is what the declaration of a point says.
type PointInfo struct {
	Name string
	// Kind is facade, contribute, rewrite, decide, wrap or observe.
	Kind string
	// Combine is the rule by which the answers of several hooks become one.
	Combine string
	// Reverse: the last hook comes first.
	Reverse bool
	// Closed is the default fail policy.
	Closed bool
	// Place is the name of the type that says what the point is about, ToolCall or
	// Turn; "" for none.
	Place string
}

// Info returns what the declaration of the point says; zero for an unknown one.
func (p Point) Info() PointInfo {
	if int(p) >= len(pointInfos) {
		return PointInfo{}
	}
	return pointInfos[p]
}

// String returns the point's name, "BeforeTool".
func (p Point) String() string { return p.Info().Name }

// Points yields all points, the methods of Hook first, in the order of their
// declaration.
func Points() iter.Seq2[Point, PointInfo] {
	return func(yield func(Point, PointInfo) bool) {
		for p, info := range pointInfos {
			if p > 0 && !yield(Point(p), info) {
				return
			}
		}
	}
}

// PointSet is a set of points.
type PointSet uint64

// SetOf returns the set of the points.
func SetOf(points ...Point) PointSet {
	var s PointSet
	for _, p := range points {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in the set.
func (s PointSet) Has(p Point) bool { return s&(1<<p) != 0 }

// With returns the union of both sets.
func (s PointSet) With(o PointSet) PointSet { return s | o }

// Len returns the number of points in the set.
func (s PointSet) Len() int { return bits.OnesCount64(uint64(s)) }

// All yields the points of the set in the order of their declaration.
func (s PointSet) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for p := Point(1); int(p) < len(pointInfos); p++ {
			if s.Has(p) && !yield(p) {
				return
			}
		}
	}
}

// PointsOf returns the points beside Hook's own methods that h implements. A
// *composite.Composite is asked through its method Points() PointSet, because it has
// the method of every point; any other hook by its interfaces. A generated composite has
// none: composite.From composes it. A nil hook has none.
func PointsOf(h Hook) PointSet {
	if c, ok := h.(interface{ Points() PointSet }); ok {
		return c.Points()
	}
	return implemented(h)
}
