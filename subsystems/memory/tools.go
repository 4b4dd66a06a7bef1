package memory

import (
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
}

// Remember keeps something for later conversations. The same name replaces what was kept under it.
//
//hook:tool idempotent
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
	h, err := m.home(agent(env))
	if err != nil {
		return "", err
	}
	e.conversation = conversation(env)
	replaced, err := m.table.put(ctx, h, e, m.may(env))
	switch {
	case errors.Is(err, errForeign):
		return "", &hook.ToolError{Kind: message.FailDenied, Text: "another conversation has remembered something as " + e.name +
			" in the meantime, and nobody was asked about replacing that; recall it, and call again if it is to be replaced"}
	case err != nil:
		return "", fmt.Errorf("remember %s: %w", e.name, err)
	case replaced:
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
//hook:tool readonly
func (m *Memory) Recall(ctx context.Context, env *hook.Env, in RecallInput) (message.ToolResult, error) {
	h, err := m.home(agent(env))
	if err != nil {
		return message.ToolResult{}, err
	}
	if in.Limit == 0 {
		in.Limit = 5
	}
	found, err := m.table.find(ctx, h, in.Query, in.Limit)
	if err != nil {
		return message.ToolResult{}, fmt.Errorf("recall: %w", err)
	}
	parts := make([]string, len(found))
	for i, e := range found {
		parts[i] = "## " + e.name + "\n" + e.content
	}
	if len(found) == 0 {
		parts = []string{nothing}
	}
	out := message.TextResult(strings.Join(parts, separator))
	out.Trust = message.TrustWorkspace
	return out, nil
}

// ForgetInput is the input of forget.
type ForgetInput struct {
	// Name of the memory, as recall shows it after ##.
	Name string `json:"name" hook:"minlen=1,maxlen=200"`
}

// Forget removes one memory for good.
//
//hook:tool destructive
func (m *Memory) Forget(ctx context.Context, env *hook.Env, in ForgetInput) (string, error) {
	if err := writable(env); err != nil {
		return "", err
	}
	h, err := m.home(agent(env))
	if err != nil {
		return "", err
	}
	name := tidy(in.Name)
	found, err := m.table.drop(ctx, h, name)
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
