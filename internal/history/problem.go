package history

import "fmt"

// Code names a kind of damage. Codes are stable: programs may test and store them.
type Code string

// The codes, in the order of the rules in the package comment.
const (
	// StartMissing: the first message is not a user's.
	StartMissing Code = "start_missing"
	// RoleUnknown: package message has no such role.
	RoleUnknown Code = "role_unknown"
	// MessageEmpty: a message of a user or an assistant is blank; see Blank.
	MessageEmpty Code = "message_empty"
	// CallByUser: a user's message has tool calls.
	CallByUser Code = "call_by_user"
	// ResultMissing: a tool call has no result.
	ResultMissing Code = "result_missing"
	// ResultOrphan: a result belongs to no tool call.
	ResultOrphan Code = "result_orphan"
	// ResultDuplicate: the tool call has another result.
	ResultDuplicate Code = "result_duplicate"
	// ResultMisplaced: a result is not directly behind its call, in the calls' order.
	ResultMisplaced Code = "result_misplaced"
	// ResultID: a result does not carry the id of the call that it answers.
	ResultID Code = "result_id"
	// ResultTool: a result does not carry the tool of the call that it answers.
	ResultTool Code = "result_tool"
	// ResultContent: a tool message has content; its text belongs into its result.
	ResultContent Code = "result_content"
	// CallIDEmpty: a tool call has no id.
	CallIDEmpty Code = "call_id_empty"
	// CallIDRepeated: an earlier tool call has the same id.
	CallIDRepeated Code = "call_id_repeated"
	// CallIDUnusable: some provider refuses the id; see ValidID.
	CallIDUnusable Code = "call_id_unusable"
	// CallTool: providers refuse the name of the called tool.
	CallTool Code = "call_tool"
	// CallArguments: the arguments of a call are not a JSON object.
	CallArguments Code = "call_arguments"
)

// Problem is one breach of the rules. It has no text of the conversation, and may be
// logged.
type Problem struct {
	Code Code
	// Message is the index of the message in the history before the repair.
	Message int
	// Call is the number of the tool call within its message, from 0, if the code
	// is about a call; else 0.
	Call int
}

// String returns one line for people.
func (p Problem) String() string {
	return fmt.Sprintf("messages[%d]: %s", p.Message, p.sentence())
}

func (p Problem) sentence() string {
	switch p.Code {
	case StartMissing:
		return "a history begins with a user's message"
	case RoleUnknown:
		return "its role is not user, assistant or tool"
	case MessageEmpty:
		return "it says nothing and calls no tool"
	case CallByUser:
		return "a user calls no tools"
	case ResultOrphan:
		return "it is the result of no tool call"
	case ResultDuplicate:
		return "the tool call that it answers has another result"
	case ResultMisplaced:
		return "a result stands directly behind its call, in the order of the calls"
	case ResultID:
		return "it does not carry the id of the tool call that it answers"
	case ResultTool:
		return "it does not name the tool of the call that it answers"
	case ResultContent:
		return "a tool message has a result and no content"
	}
	return fmt.Sprintf("tool call %d %s", p.Call, p.callSentence())
}

func (p Problem) callSentence() string {
	switch p.Code {
	case ResultMissing:
		return "has no result"
	case CallIDEmpty:
		return "has no id"
	case CallIDRepeated:
		return "has the id of an earlier call"
	case CallIDUnusable:
		return "has an id that is not 1 to 40 of a-z, A-Z, 0-9, _ and -"
	case CallTool:
		return "has a tool name that is not valid"
	case CallArguments:
		return "has arguments that are not a JSON object"
	}
	return "breaks the rule " + string(p.Code)
}
