package laws

import "github.com/grapnel-go/grapnel/internal/test/points"

// Part is what an actor plays: every point. A test writes it, and another one each
// time, so that one composite serves many sets of hooks.
type Part interface{ points.All }
