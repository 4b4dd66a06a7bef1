package history

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Interrupted returns the result of a call whose result is lost: the program ended while
// it ran, or the history was written without it. It tells the model that the outcome is
// not known.
func Interrupted() message.ToolResult {
	return message.FailedResult(message.FailCancelled, "interrupted: no result of this call was kept; its outcome is not known")
}

// startText is inserted before a history that does not begin with a user's message.
// startLabel marks that no user wrote it.
const (
	startText  = "(The beginning of this conversation is not kept.)"
	startLabel = "history"
)

// Repair makes any history valid, and returns its problems, sorted by message. It returns
// a valid history as it is: the same slice, and no problems. Else it returns a new slice;
// it never changes the messages given.
//
// Results move directly behind their calls. A result is matched to its call by id, and by
// place where ids are missing or repeated. A call without a result gets [Interrupted].
// Results without a call are dropped, and so are second results; a result that was not
// cancelled is preferred. Ids, names and arguments that a provider would refuse are
// replaced in the call and in its result. Blank messages are dropped. If the rest does not
// begin with a user's message, a message that the beginning is missing is inserted.
//
// Repair is deterministic, byte for byte, and repairing twice changes nothing more. A new
// message depends only on the messages before it and on the results of its calls. So a
// history that grows at its end keeps its beginning, as caches of providers need. Repair
// takes a few passes and copies the history, without the texts.
func Repair(messages []message.Message) ([]message.Message, []Problem) {
	if valid(messages) {
		return messages, nil
	}
	return repaired(messages)
}

func repaired(messages []message.Message) ([]message.Message, []Problem) {
	r := repairer{in: messages, ids: make(map[string]struct{}, len(messages)/2)}
	roles := make([]message.Role, len(messages))
	for i := range messages {
		roles[i] = r.role(i)
	}
	r.match = match(messages, roles)
	for i, role := range roles {
		switch role {
		case message.RoleUser:
			r.user(i)
		case message.RoleAssistant:
			r.assistant(i)
		}
	}
	if len(r.out) > 0 && r.out[0].Role != message.RoleUser {
		r.problem(StartMissing, 0, 0)
		start := message.UserText(startText)
		start.Label = startLabel
		r.out = slices.Insert(r.out, 0, start)
	}
	for _, i := range r.match.lost {
		r.problem(ResultOrphan, i, 0)
	}
	for _, i := range r.match.doubles {
		r.problem(ResultDuplicate, i, 0)
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Message, b.Message) })
	return r.out, r.problems
}

type repairer struct {
	in, out  []message.Message
	match    *matcher
	problems []Problem
	// next is the first call of match that has not been written.
	next int
	// ids has the ids of the calls that have been written.
	ids map[string]struct{}
	a   arguments
}

func (r *repairer) problem(c Code, message, call int) {
	r.problems = append(r.problems, Problem{Code: c, Message: message, Call: call})
}

// role returns the role of a message. It translates the names that other programs use.
func (r *repairer) role(i int) message.Role {
	m := &r.in[i]
	if known(m.Role) {
		return m.Role
	}
	r.problem(RoleUnknown, i, 0)
	switch strings.ToLower(string(m.Role)) {
	case "assistant", "model", "ai":
		return message.RoleAssistant
	case "tool", "function":
		return message.RoleTool
	}
	switch {
	case m.CallID != "" || !m.Result.IsZero():
		return message.RoleTool
	case callsTool(m.Content):
		return message.RoleAssistant
	}
	return message.RoleUser // the role with the fewest rights
}

func callsTool(content message.List[message.Block]) bool {
	for _, b := range content.All() {
		if b.Kind == message.BlockToolCall {
			return true
		}
	}
	return false
}

func (r *repairer) user(i int) {
	m := r.in[i]
	if callsTool(m.Content) {
		r.problem(CallByUser, i, 0)
		m.Content = withoutCalls(m.Content)
	}
	r.write(i, m, message.RoleUser)
}

func withoutCalls(content message.List[message.Block]) message.List[message.Block] {
	return message.Freeze(slices.DeleteFunc(content.Slice(), func(b message.Block) bool { return b.Kind == message.BlockToolCall }))
}

// write appends a message unless it is blank.
func (r *repairer) write(i int, m message.Message, role message.Role) {
	if Blank(m.Content) {
		r.problem(MessageEmpty, i, 0)
		return
	}
	m.Role = role
	r.out = append(r.out, m)
}

// assistant appends an assistant's message and the results of its calls.
func (r *repairer) assistant(i int) {
	from, to := r.next, r.next
	for to < len(r.match.calls) && r.match.calls[to].message == i {
		to++
	}
	r.next = to
	m := r.in[i]
	m.Content = r.mended(m.Content, r.match.calls[from:to])
	r.write(i, m, message.RoleAssistant)
	last := i
	for _, k := range r.match.calls[from:to] {
		if k.result == open {
			r.problem(ResultMissing, i, k.nth)
		} else {
			if k.result < last || r.match.apart(i, k.result) {
				r.problem(ResultMisplaced, k.result, 0)
			}
			last = max(last, k.result)
		}
		r.out = append(r.out, r.result(k, m.Content.At(k.block)))
	}
}

// mended returns the content with valid calls.
func (r *repairer) mended(content message.List[message.Block], calls []call) message.List[message.Block] {
	var blocks []message.Block
	for _, k := range calls {
		b := content.At(k.block)
		r.mendID(&b, k)
		if name := ToolName(b.Tool); name != b.Tool {
			r.problem(CallTool, k.message, k.nth)
			b.Tool = name
		}
		if !r.a.valid(b.JSON) {
			r.problem(CallArguments, k.message, k.nth)
			b.JSON = readable(b.JSON)
		}
		if b == content.At(k.block) {
			continue
		}
		if blocks == nil {
			blocks = content.Slice()
		}
		blocks[k.block] = b
	}
	if blocks == nil {
		return content
	}
	return message.Freeze(blocks)
}

// readable is Arguments, but returns an empty object for no arguments or null.
func readable(raw message.JSON) message.JSON {
	if s := strings.TrimSpace(string(raw)); s == "" || s == "null" {
		return "{}"
	}
	return Arguments(raw)
}

// mendID gives the call a new id if it needs one. The new id differs from those of earlier
// calls only, because later calls must not change the beginning of a history.
func (r *repairer) mendID(b *message.Block, k call) {
	_, repeated := r.ids[b.CallID]
	switch {
	case b.CallID == "":
		r.problem(CallIDEmpty, k.message, k.nth)
	case repeated:
		r.problem(CallIDRepeated, k.message, k.nth)
	case !ValidID(b.CallID):
		r.problem(CallIDUnusable, k.message, k.nth)
	default:
		r.ids[b.CallID] = struct{}{}
		return
	}
	for n := len(r.ids) + 1; ; n++ {
		b.CallID = "call_repaired_" + strconv.Itoa(n)
		if _, taken := r.ids[b.CallID]; !taken {
			r.ids[b.CallID] = struct{}{}
			return
		}
	}
}

// result returns the result of the call k. b is the call in the new history.
func (r *repairer) result(k call, b message.Block) message.Message {
	if k.result == open {
		return message.Message{Role: message.RoleTool, CallID: b.CallID, Tool: b.Tool, Result: Interrupted()}
	}
	m := r.in[k.result]
	if m.CallID != k.id {
		r.problem(ResultID, k.result, 0)
	}
	if m.Tool != k.tool {
		r.problem(ResultTool, k.result, 0)
	}
	if m.Content.Len() > 0 {
		r.problem(ResultContent, k.result, 0)
		if m.Result.Content.Len() == 0 {
			m.Result.Content = withoutCalls(m.Content)
		}
	}
	m.Role, m.CallID, m.Tool, m.Content = message.RoleTool, b.CallID, b.Tool, message.List[message.Block]{}
	return m
}
