// Package loop runs turns: the input through the gates, then steps of model calls and tool
// calls, until the turn ends. It knows no agent registry and no queue of a conversation:
// package runtime gives it an agent, a thread and a handle for each turn.
//
// A turn reads from turn.go on: input.go (its input through the gates), contribute.go (what
// hooks add), step.go (one reply and what follows), model.go and attempt.go (one request, and
// one that fails), repair.go and calls.go (tool calls and their gates), execute.go and
// result.go (running them), ending.go (whether the turn continues), and abandoned_turn.go (the
// end of a turn whose loop hangs). resume.go and child.go run other kinds of turns, aside.go
// asks models outside of turns.
//
// Only the goroutine of a turn's loop writes the state of the turn. What other goroutines
// share is in its ledger and its handle.
package loop

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Env is what the turns of a process share. Nothing changes it once a turn has begun.
type Env struct {
	Provider provider.Provider
	Store    store.Store
	// Project is that of the conversations.
	Project     string
	Environment scope.Environment
	Limits      Limits
	// Grace is how long a cancelled turn waits for its tools and hooks.
	Grace time.Duration
	// Agent returns a registered agent. Find registers it if it knows its configuration.
	Agent func(name string) (*Agent, error)
	Find  func(ctx context.Context, name string) (*Agent, error)
	Price func(model string, u message.Usage) hook.Cost // nil is 0
	Now   func() time.Time
	NewID func() string

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
}
