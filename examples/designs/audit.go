package designs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Trail is the audit hook of design 000: it writes down what is asked, what every call becomes and
// how the turn ends. Each line begins with a hash over the line before, so that a changed one shows.
//
//	000                      here
//	pre_turn                 BeforeTurn
//	post_tool_call           AfterTool, for denied calls as well
//	post_turn                AfterTurn
//	Continue                 the zero decision
//
// Arguments and texts stay out: a record lives longer than what was said. The subsystem audit of this
// program keeps files, seals their end and survives a crash.
//
//hook:subsystem
type Trail struct {
	hook.Nop
	mu    sync.Mutex
	lines []string
}

func (t *Trail) add(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, seal(t.lines)+" "+fmt.Sprintf(format, args...))
}

// seal is the hash over the last line.
func seal(lines []string) string {
	last := ""
	if len(lines) > 0 {
		last = lines[len(lines)-1]
	}
	sum := sha256.Sum256([]byte(last))
	return hex.EncodeToString(sum[:8])
}

// BeforeTurn is 000's pre_turn.
func (t *Trail) BeforeTurn(_ context.Context, turn *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
	t.add("turn %d of %s with %q", turn.Number(), turn.Agent().Name, turn.Conversation().Sender())
	return hook.TurnDecision{}, nil
}

// AfterTool is 000's post_tool_call.
func (t *Trail) AfterTool(_ context.Context, call *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
	t.add("call of %s: %s", call.Name(), o.Outcome)
	return hook.OutcomeDecision{}, nil
}

// AfterTurn is 000's post_turn.
func (t *Trail) AfterTurn(_ context.Context, _ *hook.Turn, o hook.TurnOutcome) {
	t.add("end: %s", o.Stop)
}

// Lines returns the record.
func (t *Trail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// Intact returns the first line that does not follow from the one before, from 0; -1 if all do.
func Intact(lines []string) int {
	for i, line := range lines {
		if !strings.HasPrefix(line, seal(lines[:i])+" ") {
			return i
		}
	}
	return -1
}

// Trailed is the record with the hooks of [Guarded] inside of it.
//
//hook:composite
type Trailed struct {
	Trail *Trail
	Block hook.Hook
	Shell *Shell
}
