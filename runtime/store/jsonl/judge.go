package jsonl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func (in *input) judge(d store.Dump) error {
	const first = 2 // the line of the first message
	if err := d.Check(); err != nil {
		const fix = "the file was changed: export the conversation again"
		if wrong, ok := errors.AsType[*store.DumpError](err); ok {
			return &LineError{first + wrong.Message, wrong.Err, fix}
		}
		return in.wrong(err, fix)
	}
	var said []message.Message
	var lines []int
	turn := 0
	for i, k := range slices.Concat(d.Archive, d.Messages) {
		line, user := first+i, k.Message.Role == message.RoleUser
		switch {
		case k.Summary && !user:
			return wrongRole(line, k, "in a summary, which is a user's message")
		case k.Summary: // on its own, because it replaces the messages before it
			if err := judgeSaid([]message.Message{k.Message}, []int{line}); err != nil {
				return err
			}
			continue
		case k.Turn != turn && !user:
			return wrongRole(line, k, fmt.Sprintf("at the beginning of turn %d, which begins with what a user says", k.Turn))
		}
		turn = k.Turn
		said, lines = append(said, k.Message), append(lines, line)
	}
	return judgeSaid(said, lines)
}

func wrongRole(line int, k store.Kept, where string) error {
	return &LineError{line, fmt.Errorf("message.role: it is %q %s", k.Message.Role, where), "set the role or the turn right, or export the conversation again"}
}

// judgeSaid returns a [*LineError] if the messages are not a possible history. lines has
// their line numbers.
func judgeSaid(said []message.Message, lines []int) error {
	for _, p := range history.Check(said) {
		if field := impossible(p.Code); field != "" {
			_, why, _ := strings.Cut(p.String(), ": ")
			return &LineError{lines[p.Message], fmt.Errorf("%s: %s", field, why), "set it right, or export the conversation again"}
		}
	}
	return nil
}

// impossible names the wrong member for a problem that no run can cause. It returns "" for
// problems that a model or a killed process can cause; the runtime repairs those.
func impossible(c history.Code) string {
	switch c {
	case history.StartMissing, history.RoleUnknown, history.CallByUser:
		return "message.role"
	case history.ResultMisplaced, history.ResultDuplicate:
		return "message"
	case history.ResultTool:
		return "message.tool"
	case history.ResultContent:
		return "message.content"
	}
	return ""
}
