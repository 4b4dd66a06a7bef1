package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// separator separates the memories in the result of recall.
const separator = "\n---\n"

// nothing is the result of recall without a match.
const nothing = "no memories found"

// RememberInput is the input of remember.
type RememberInput struct {
	// Name of the memory: a few words by which it will be looked for. A memory of the same name is replaced; if another conversation wrote it, the user is asked first.
	Name string `json:"name" hook:"minlen=1,maxlen=200"`
	// Content is what to remember, in full sentences that make sense without this conversation.
	Content string `json:"content" hook:"minlen=1,maxlen=65536"`
	// Aliases are other words by which it may be looked for: synonyms, abbreviations, names.
	Aliases []string `json:"aliases,omitempty" hook:"maxitems=32,maxlen=200"`
	// Kind is fact, preference (how the user wants things) or task (something that is still to be done).
	Kind string `json:"kind,omitempty" hook:"enum=fact|preference|task"`
}

// Remember keeps something for later conversations. The same name replaces what was kept under it.
//
//hook:tool trust=trusted idempotent
func (m *Memory) Remember(ctx context.Context, env *hook.Env, in RememberInput) (string, error) {
	if err := writable(env); err != nil {
		return "", err
	}
	e := entry{name: tidy(in.Name), content: in.Content}
	for _, a := range in.Aliases {
		if a = tidy(a); a != "" && !slices.Contains(e.aliases, a) {
			e.aliases = append(e.aliases, a)
		}
	}
	if e.name == "" || strings.TrimSpace(e.content) == "" {
		return "", &hook.ToolError{Kind: message.FailArguments, Text: "name and content must not be blank"}
	}
	if hasKey(e.name, e.content, strings.Join(e.aliases, "\n")) {
		return "", &hook.ToolError{Kind: message.FailDenied, Text: "it looks like a key or a password, which is never kept; say where it can be found instead"}
	}
	s, err := m.settingsOf(agent(env))
	if err != nil {
		return "", err
	}
	e.kind, e.conversation = cmp.Or(Kind(in.Kind), KindFact), conversation(env)
	if t := turnOf(env); t != nil {
		e.turn, e.label = t.ID(), m.labelOf(t, e.content)
	}
	done, err := m.table.put(ctx, s.own(), e, m.may(env))
	switch {
	case errors.Is(err, errForeign):
		return "", &hook.ToolError{Kind: message.FailDenied, Text: "another conversation has remembered something as " + e.name +
			" in the meantime, and nobody was asked about replacing that; recall it, and call again if it is to be replaced"}
	case err != nil:
		return "", fmt.Errorf("remember %s: %w", e.name, err)
	case done.merged != "":
		return "this is remembered already as " + done.merged, nil
	case done.replaced:
		return "replaced what was remembered as " + e.name, nil
	}
	return "remembered " + e.name, nil
}

// RecallInput is the input of recall.
type RecallInput struct {
	// Query is words to look for in names, aliases and contents; any of them is enough. sail* finds all words that begin with sail. Without a word the newest memories are returned.
	Query string `json:"query" hook:"maxlen=2000"`
	// Limit is how many memories to return at most.
	Limit int `json:"limit,omitempty" hook:"default=5,min=1,max=50"`
}

// Recall looks up what was remembered, the best match first.
//
//hook:tool trust=trusted readonly
func (m *Memory) Recall(ctx context.Context, env *hook.Env, in RecallInput) (message.ToolResult, error) {
	s, err := m.settingsOf(agent(env))
	if err != nil {
		return message.ToolResult{}, err
	}
	found, err := m.table.find(ctx, s.homes, search{query: in.Query, limit: cmp.Or(in.Limit, 5), halfLife: s.halfLife()})
	if err != nil {
		return message.ToolResult{}, fmt.Errorf("recall: %w", err)
	}
	parts := make([]string, len(found))
	for i, h := range found {
		text, left := excerpt(h.content, maxExcerpt)
		if left > 0 {
			text += fmt.Sprintf("\n[%d more characters; get_memory has them]", left)
		}
		parts[i] = marked(&h, text)
	}
	if len(found) == 0 {
		parts = []string{nothing}
	}
	m.use(env, found)
	out := message.TextResult(strings.Join(parts, separator))
	out.Trust = trustOf(found)
	return out, nil
}

// maxExcerpt is how much of one memory recall shows, in characters.
const maxExcerpt = 4000

// marked returns the memory as tools show it. What no person and no model of the user has
// written says so, and is quoted, so that it cannot look like another memory.
func marked(h *hit, text string) string {
	head := "## " + plain(h.name) + "\n"
	if h.label.origin != OriginPage && h.label.origin != OriginTool {
		return head + text
	}
	return head + "[origin: " + string(h.label.origin) + "; the user has not said this]\n> " + strings.ReplaceAll(plain(text), "\n", "\n> ")
}

// GetMemoryInput is the input of get_memory.
type GetMemoryInput struct {
	// Name of the memory, as recall shows it after ##.
	Name string `json:"name" hook:"minlen=1,maxlen=200"`
}

// GetMemory returns one memory as a whole, by its name.
//
//hook:tool trust=trusted readonly
func (m *Memory) GetMemory(ctx context.Context, env *hook.Env, in GetMemoryInput) (message.ToolResult, error) {
	s, err := m.settingsOf(agent(env))
	if err != nil {
		return message.ToolResult{}, err
	}
	h, found, err := m.table.get(ctx, s.homes, in.Name)
	switch {
	case err != nil:
		return message.ToolResult{}, fmt.Errorf("get memory: %w", err)
	case !found:
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailNotFound, Text: "there is no memory of the name " + tidy(in.Name)}
	}
	m.use(env, []hit{h})
	out := message.TextResult(marked(&h, h.content))
	out.Trust = trustOf([]hit{h})
	return out, nil
}

// ForgetInput is the input of forget.
type ForgetInput struct {
	// Name of the memory, as recall shows it after ##.
	Name string `json:"name" hook:"minlen=1,maxlen=200"`
}

// Forget removes one memory for good.
//
//hook:tool trust=trusted destructive
func (m *Memory) Forget(ctx context.Context, env *hook.Env, in ForgetInput) (string, error) {
	if err := writable(env); err != nil {
		return "", err
	}
	s, err := m.settingsOf(agent(env))
	if err != nil {
		return "", err
	}
	name, found := tidy(in.Name), false
	for _, h := range s.homes {
		if found, err = m.table.drop(ctx, h, name); found || err != nil {
			break
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("forget %s: %w", name, err)
	case !found:
		return "", &hook.ToolError{Kind: message.FailNotFound, Text: "there is no memory of the name " + name}
	}
	return "forgot " + name, nil
}

// writable returns an error if the call may not change anything.
func writable(env *hook.Env) error {
	if env != nil && (env.Grant.ReadOnly || env.Grant.Void) {
		return &hook.ToolError{Kind: message.FailDenied, Text: "this call may not change anything, and so no memory"}
	}
	return nil
}
