package jsonl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/history"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// judge returns a [*LineError] if no conversation can be like that.
func (in *input) judge(d store.Dump) error {
	if err := d.Check(); err != nil {
		return in.wrong(err, "the file was changed: export the conversation again")
	}
	var said []hook.Message
	var lines []int
	turn := 0
	for i, k := range slices.Concat(d.Archive, d.Messages) {
		line := i + 2 // the first message stands behind line 1
		if k.Summary {
			continue
		}
		if k.Turn != turn && k.Message.Role != hook.RoleUser {
			return &LineError{line, fmt.Errorf("message.role: it is %q at the beginning of turn %d, which begins with what a user says", k.Message.Role, k.Turn),
				"set the role or the turn right, or export the conversation again"}
		}
		turn = k.Turn
		said, lines = append(said, k.Message), append(lines, line)
	}
	for _, p := range history.Check(said) {
		if field := impossible(p.Code); field != "" {
			_, why, _ := strings.Cut(p.String(), ": ")
			return &LineError{lines[p.Message], fmt.Errorf("%s: %s", field, why), "set it right, or export the conversation again"}
		}
	}
	return nil
}

// impossible names the member that is wrong about a message that nobody can have said so;
// "" for what a model, or a process that was killed, can leave behind, which the runtime
// mends.
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
