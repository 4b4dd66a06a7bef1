package loop

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Env has what the turns of a process share. Nothing changes it after the first turn begins.
type Env struct {
	Provider    provider.Provider
	Store       store.Store
	Project     string
	Environment scope.Environment
	Limits      Limits
	// Grace is how long a cancelled turn waits for its tools and hooks. A child waits half as
	// long as its parent.
	Grace time.Duration
	// Agent returns a registered agent. Find registers it if it knows its configuration.
	Agent func(name string) (*Agent, error)
	Find  func(ctx context.Context, name string) (*Agent, error)
	// Spending prices the requests to models, and bounds what they cost.
	Spending *spending.Ledger
	Now      func() time.Time
	NewID    func() string

	Tools      *toolrun.Runner
	Loops      *drive.Pool
	Abandoned  *abandoned.Counts
	Requests   *human.Table
	Background *queue.Queues
}

// Limits bound every turn. The fields are those of runtime.Limits, with the defaults filled in.
type Limits struct {
	Result        int
	Reply         provider.Limits
	Contributions contribution.Budget
	Depth         int
	Children      int
	Resumes       int
	Unreadable    int
	Gate          time.Duration
}
