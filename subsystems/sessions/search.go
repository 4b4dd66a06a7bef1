package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// Limits of what a call returns.
const (
	// maxWindow is how many messages are shown for a match, itself included.
	maxWindow = 16
	// maxText bounds a line and maxResult a result, in bytes.
	maxText   = 1024
	maxResult = 48 << 10
)

// SearchInput is the input of search_sessions.
type SearchInput struct {
	// Query is words to look for; any of them is enough. sail* finds all words that begin with sail.
	Query string `json:"query" hook:"minlen=1,maxlen=2000"`
	// Limit is how many matches to return at most.
	Limit int `json:"limit,omitempty" hook:"default=5,min=1,max=20"`
	// ContextBefore is how many messages to show before each match.
	ContextBefore int `json:"context_before,omitempty" hook:"default=4,min=0,max=8"`
	// ContextAfter is how many messages to show after each match.
	ContextAfter int `json:"context_after,omitempty" hook:"default=4,min=0,max=8"`
	// Agent limits the search to the conversations of the agent with this name.
	Agent string `json:"agent,omitempty" hook:"maxlen=64"`
	// Sender limits the search to the conversations with this sender.
	Sender string `json:"sender,omitempty" hook:"maxlen=256"`
}

// SearchSessions finds what was said in past conversations, the best match first. It searches what people and agents have said, summaries, and names of tools.
//
//hook:tool trust=trusted readonly
func (s *Sessions) SearchSessions(ctx context.Context, env *hook.Env, in SearchInput) (message.ToolResult, error) {
	q, err := queryOf(env, in)
	if err != nil {
		return message.ToolResult{}, err
	}
	found, err := s.search(ctx, q)
	if err != nil {
		if ctx.Err() != nil {
			return message.ToolResult{}, ctx.Err()
		}
		env.Call.Host().Emit(ctx, hook.Diagnostic{Code: "sessions.failed", Text: "sessions: the search of past conversations failed"}.Event())
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailOperation, Text: "past conversations cannot be searched now"}
	}
	out := message.TextResult(render(found, q.Limit))
	// Other people, and pages that other conversations have read, may be the origin of what is found.
	out.Trust = message.TrustExternal
	return out, nil
}

// queryOf returns the query of a call, within the scope of its agent and of those that run it.
func queryOf(env *hook.Env, in SearchInput) (Query, error) {
	denied := func(why string) error { return &hook.ToolError{Kind: message.FailDenied, Text: why} }
	if env == nil || env.Call == nil || env.Call.Step() == nil || env.Call.Step().Turn() == nil || env.Grant.Void {
		return Query{}, denied("past conversations can be searched only from a conversation")
	}
	turn := env.Call.Step().Turn()
	running := turn.Root().Conversation() // of a child it is that of the turn that a person started
	q := Query{
		Text: in.Query, Agent: in.Agent, Sender: in.Sender, Except: running.ID(),
		Limit: in.Limit, Before: in.ContextBefore, After: min(in.ContextAfter, maxWindow-1-in.ContextBefore),
	}
	for at := turn; at != nil; at = at.Parent() { // an agent that runs another one lends it no more than it has
		scope, ok, err := scopeOf(at.Agent())
		if err != nil || !ok {
			return Query{}, denied("the agent " + at.Agent().Name + " may not search past conversations: it has no section sessions")
		}
		switch scope {
		case ScopeOwn:
			if q.Sender != "" && q.Sender != running.Sender() {
				return Query{}, denied("the agent " + at.Agent().Name + " may search only " + scope.text() + "; leave out sender")
			}
			if q.Sender = running.Sender(); q.Sender == "" { // which would be everybody
				return Query{}, denied("this conversation has no sender, so no conversation has the same")
			}
		case ScopeAgent:
			if q.Agent != "" && q.Agent != at.Agent().Name {
				return Query{}, denied("the agent " + at.Agent().Name + " may search only " + scope.text() + "; leave out agent")
			}
			q.Agent = at.Agent().Name
		}
	}
	return q, nil
}

// place is the place of a message among all that are found.
type place struct {
	conversation string
	archived     bool
	message      int
}

// render shows the matches. A match that an earlier one has shown already is left out, and so
// is what does not fit.
func render(found []Match, limit int) string {
	found = found[:min(len(found), limit)]
	if len(found) == 0 {
		return "Nothing was found."
	}
	var sb strings.Builder
	shown := map[place]bool{}
	n, left := 0, 0
	for _, m := range found {
		if shown[place{m.Conversation, m.Archived, m.Message}] && !m.Summary {
			continue
		}
		text := m.render(n + 1)
		if sb.Len()+len(text) > maxResult {
			left++
			continue
		}
		n++
		sb.WriteString(text)
		for _, l := range m.window() {
			if l.Message == m.Message || len(l.Text) < maxText { // what was cut may have another match
				shown[place{m.Conversation, m.Archived, l.Message}] = true
			}
		}
	}
	if left > 0 {
		fmt.Fprintf(&sb, "%d more matches are left out, because the result would be too long; ask for fewer messages around each.\n", left)
	}
	return strings.TrimSuffix(sb.String(), "\n")
}

// window returns the lines around the match, with its own, at most maxWindow.
func (m Match) window() []Line {
	if m.Summary || len(m.Around) == 0 {
		return []Line{{Message: m.Message, Role: m.Role, Text: m.Snippet}}
	}
	return m.Around[:min(len(m.Around), maxWindow)]
}

// render shows the match: a heading, and a line for each message, the found one with a mark.
// Every line is one message, so that no text can look like another message.
func (m Match) render(number int) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%d. %s with %s, %s, conversation %s", number, line(m.Agent), line(m.Sender), m.Updated.UTC().Format(time.DateOnly), line(m.Conversation))
	if m.Title != "" {
		fmt.Fprintf(&sb, ", begins: %s", line(m.Title))
	}
	sb.WriteByte('\n')
	for _, l := range m.window() {
		mark, who, text := " ", string(l.Role), l.Text
		if l.Message == m.Message {
			mark, text = ">", m.Snippet
		}
		if m.Summary {
			who = "summary"
		}
		fmt.Fprintf(&sb, "%s %s: %s\n", mark, who, line(text))
	}
	return sb.String()
}

// line returns the text as one line.
func line(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029'
	}), " ")
	text = strings.Map(func(r rune) rune {
		if character.Unseen(r) && r != '\u200d' { // which is part of words and signs
			return '\uFFFD'
		}
		return r
	}, text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
	}
	return text
}
