// Package guard makes outdated generated code fail to compile. The declarations for the
// members of a composite compile only if each member has the same points as when the file
// was generated, no more and no fewer. The package has no effect at run time, and only
// generated code uses it.
//
// An inner type embeds a member and [NotCalled], which has a marker method named like every
// point. An outer type embeds the inner one and HasX for each point X that the member has.
// HasX hides the member's method with a marker, and its constraint requires the method. So
// the outer type has a marker of every name and implements [Unchanged]. If the member gains a
// point, its method hides the marker or has the same depth, and the outer type no longer
// implements Unchanged.
package guard

//go:generate go run ../../gen/internal/pointgen guard ../../hook

// Marker is the result of the methods of this package.
type Marker struct{}

// In NotCalled the markers of hook.Hook's methods have the depth of the member's own
// methods, one level above those of its hook.Nop. The markers of the other points are four
// levels deeper, below the types that a member usually embeds. The guards do not see methods
// that a member embeds still deeper, nor the values of interfaces and groups.

// NotCalled has the markers of the points that a member does not have.
type NotCalled struct{ below4 }

// NotCalled2 is [NotCalled] for members that embed a type which embeds hook.Nop.
type NotCalled2 struct{ NotCalled }

// NotCalled3 is [NotCalled] for members with hook.Nop one level deeper still.
type NotCalled3 struct{ NotCalled2 }

type (
	below4 struct{ below3 }
	below3 struct{ below2 }
	below2 struct{ below1 }
	below1 struct{}
)
