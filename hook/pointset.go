package hook

import (
	"iter"
	"math/bits"
)

//go:generate go run ../gen/internal/pointgen hook .

// Point names a point: a method of [Hook] or one of the one-method interfaces. Package point has the constants.
type Point uint8

// String returns the point's name, "BeforeTool"; "" for an unknown one.
func (p Point) String() string {
	if int(p) >= len(pointNames) {
		return ""
	}
	return pointNames[p]
}

// PointSet is a set of points.
type PointSet uint64

// Has reports whether p is in the set.
func (s PointSet) Has(p Point) bool { return s&(1<<p) != 0 }

// With returns the union of both sets.
func (s PointSet) With(o PointSet) PointSet { return s | o }

// Len returns the number of points in the set.
func (s PointSet) Len() int { return bits.OnesCount64(uint64(s)) }

// All yields the points of the set in the order of their declaration.
func (s PointSet) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for p := Point(1); int(p) < len(pointNames); p++ {
			if s.Has(p) && !yield(p) {
				return
			}
		}
	}
}
