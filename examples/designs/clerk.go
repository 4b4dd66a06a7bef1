package designs

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Clerk has the events of design 003 that no member of the daemon answers: it tells the model what day it is when a session
// begins, finds the tool that a misspelt name means, counts the calls that run, and keeps what compactions have removed.
//
//	003              here
//	SessionStart     OnSessionStart: hook.ContextSession
//	OnError          OnInvalidTool: hook.RenameTool
//	PostToolUse      WrapTool: around the call, with what it returns
//	PostCompact      AfterCompaction
//
//hook:subsystem
type Clerk struct {
	hook.Nop
	// Today says what day it is.
	Today func() string

	mu      sync.Mutex
	ran     map[string]int
	removed int
}

// OnSessionStart tells the model what day it is.
func (c *Clerk) OnSessionStart(context.Context, *hook.Session) (hook.SessionDecision, error) {
	if c.Today == nil {
		return hook.SessionDecision{}, nil
	}
	return hook.ContextSession("Today is " + c.Today() + "."), nil
}

// OnInvalidTool finds the one tool whose name differs only in case and signs.
func (c *Clerk) OnInvalidTool(_ context.Context, _ *hook.Step, invalid hook.InvalidCall) (hook.RepairDecision, error) {
	plain := func(name string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	}
	if invalid.Failure == message.FailNotRegistered {
		for _, name := range invalid.Tools.All() {
			if plain(name) == plain(invalid.Call.Name()) {
				return hook.RenameTool(name), nil
			}
		}
	}
	return hook.RepairDecision{}, nil
}

// WrapTool counts the calls that run.
func (c *Clerk) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	c.mu.Lock()
	if c.ran == nil {
		c.ran = map[string]int{}
	}
	c.ran[call.Name()]++
	c.mu.Unlock()
	return next.Run(ctx)
}

// AfterCompaction counts the messages that summaries have replaced.
func (c *Clerk) AfterCompaction(_ context.Context, _ *hook.Conversation, done hook.Compacted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removed += done.Removed
}

// Report says what the clerk has seen.
func (c *Clerk) Report(tool string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s ran %d times; %d messages are in summaries", tool, c.ran[tool], c.removed)
}
