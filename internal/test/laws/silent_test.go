package laws_test

import "github.com/grapnel-go/grapnel/internal/test/points"

// silent has no opinion at any point. Parts embed it for the points that their law
// is not about.
type silent = points.Hook
