package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// SearchInput are the arguments of tool_search.
type SearchInput struct {
	// What the tool has to do, in a few words, or its name.
	Query string `json:"query" hook:"minlen=1,maxlen=500"`
	// How many tools you want at most; 5 without it.
	Limit int `json:"limit,omitzero" hook:"min=1,max=10"`
}

// Found is one tool in the result of tool_search.
type Found struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
}

const (
	defaultLimit = 5
	// maxDescription limits a description in a result, in characters, maxSchema a schema and maxSchemas all of them, in bytes.
	maxDescription = 1000
	maxSchema      = 8 << 10
	maxSchemas     = 24 << 10
)

// Search finds tools that are not in your list, by what they do, and loads them: you can call them from your next
// message on. Search before you say that you cannot do something.
//
//hook:tool name=tool_search trust=trusted readonly
func (b *Toolbox) Search(_ context.Context, env *hook.Env, in SearchInput) (message.ToolResult, error) {
	t := turnOf(env.Call)
	if t == nil || !b.conversation.Get(t.Conversation()).On {
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailNotAvailable, Text: "all of your tools are in your list already"}
	}
	s := b.turn.Get(t).shelf
	if s == nil { // the call is run again after a restart
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailOperation, Text: "the search broke off; call it again"}
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	found := s.search(in.Query, limit)
	if len(found) == 0 {
		return message.TextResult("No tool fits that. Try other words, in English, or fewer. " + s.contents()), nil
	}
	names := make([]string, len(found))
	for i, tool := range found {
		names[i] = tool.Name
	}
	b.load(t, names...)
	text, err := json.Marshal(described(found))
	if err != nil {
		return message.ToolResult{}, fmt.Errorf("describe the tools: %w", err)
	}
	r := message.TextResult(string(text))
	r.Trust = message.TrustExternal // servers have written the descriptions
	return r, nil
}

// search returns the tools that fit best, the best first.
func (s *shelf) search(query string, limit int) []message.Tool {
	s.once.Do(func() { s.index = newIndex(s.hidden) })
	var out []message.Tool
	for _, i := range s.index.search(query, limit) {
		out = append(out, s.hidden[i])
	}
	return out
}

// described returns the tools as the result has them. It leaves long schemas out, because the model gets them with its next
// request anyway.
func described(tools []message.Tool) []Found {
	out := make([]Found, len(tools))
	left := maxSchemas
	for i, t := range tools {
		text, _ := character.Cut(strings.TrimSpace(t.Description), maxDescription)
		out[i] = Found{Name: t.Name, Description: text}
		if n := len(t.Input); n <= maxSchema && n <= left && json.Valid([]byte(t.Input)) {
			out[i].InputSchema = json.RawMessage(t.Input)
			left -= n
		}
	}
	return out
}
