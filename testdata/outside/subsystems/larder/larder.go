// Package larder is a subsystem: what there is to eat, and how much of it may be taken at once.
package larder

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// perTurn is how often something may be taken in one turn.
const perTurn = 2

// Larder knows what there is. Make one with New.
//
//hook:subsystem prefix=larder_
type Larder struct {
	hook.Nop
	mu    sync.Mutex // calls of one step run at the same time
	stock map[string]int
	taken hook.TurnState[int]
}

var _ hook.BeforeTool = (*Larder)(nil)

// New returns an empty Larder.
func New() *Larder { return &Larder{stock: map[string]int{}} }

// SystemPrompt says when to stop.
func (l *Larder) SystemPrompt(cfg *hook.AgentConfig) string {
	return fmt.Sprintf("Call %s at most %d times for one request.", cfg.ToolName(ToolLarderTake), perTurn)
}

// BeforeTool denies what is taken too often in one turn.
func (l *Larder) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if call.Name() != ToolLarderTake {
		return hook.ToolDecision{}, nil
	}
	if l.taken.Update(call.Step().Turn(), func(n int) int { return n + 1 }) > perTurn {
		return hook.DenyTool("That is enough for one request."), nil
	}
	return hook.ToolDecision{}, nil
}

// Amount is a number of pieces of one item.
type Amount struct {
	// Item in the singular, such as egg.
	Item string `json:"item" hook:"minlen=1,maxlen=40"`
	// Pieces of the item.
	Pieces int `json:"pieces,omitzero" hook:"min=1,max=99,default=1"`
}

// Put adds pieces of an item and says how many there are now.
//
//hook:tool
func (l *Larder) Put(_ context.Context, in Amount) (Amount, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stock[in.Item] += in.Pieces
	return Amount{in.Item, l.stock[in.Item]}, nil
}

// Take removes pieces of an item and says how many are left. If there are too few, nothing is taken.
//
//hook:tool destructive
func (l *Larder) Take(_ context.Context, in Amount) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.stock[in.Item] - in.Pieces
	if left < 0 {
		return "", &hook.ToolError{Kind: message.FailNotFound, Text: fmt.Sprintf("there are %d of %s", l.stock[in.Item], in.Item)}
	}
	l.stock[in.Item] = left
	return fmt.Sprintf("%d left", left), nil
}
