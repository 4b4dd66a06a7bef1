package laws

import "github.com/grapnel-go/grapnel/internal/test/points"

// Part is the behaviour of an actor at every point. A test sets another part each time, so
// that one composite serves many sets of hooks.
type Part interface{ points.All }
