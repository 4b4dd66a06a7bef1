// Package guard is how generated code notices that it is behind: what it declares for
// the members of a composite compiles only as long as each of them has the points that it
// had when the file was generated, no more and no fewer. Nothing of it is there at run
// time, and nobody else needs it.
//
// A member is embedded in a type beside [NotCalled], which has a marker of the name of
// every point. That type is embedded in another one beside HasX for each point X that
// the member has; HasX hides the member's method with a marker, and its constraint says
// that the method is there. So the outer type has a marker of every name, and is
// [Unchanged]. Once the member gains a point, its method hides the marker or is as deep as
// that one, and the outer type is Unchanged no longer.
package guard

//go:generate go run ../../gen/internal/pointgen guard ../../hook

// Marker is the result of the methods of this package.
type Marker struct{}

// The methods of hook.Hook lie in NotCalled as deep as those of the member itself, one
// level above the ones that it has from hook.Nop; those of the points beside it lie four
// levels deeper, below all that a member usually embeds. What a member embeds further
// down is not seen, nor is what an interface or a group holds.

// NotCalled has the markers of the points that a member does not have.
type NotCalled struct{ below4 }

// NotCalled2 is [NotCalled] for members that have hook.Nop from what they embed.
type NotCalled2 struct{ NotCalled }

// NotCalled3 is [NotCalled] for members that have it from still further down.
type NotCalled3 struct{ NotCalled2 }

type (
	below4 struct{ below3 }
	below3 struct{ below2 }
	below2 struct{ below1 }
	below1 struct{}
)
