package skills

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/spell"
)

// SkillInput are the arguments of skill.
type SkillInput struct {
	// Name of the skill, as the list of skills has it. Empty lists them.
	Name string `json:"name"`
	// What the skill is to be applied to, if it takes arguments: words, quoted as in a shell.
	Arguments string `json:"arguments,omitzero"`
}

// Load gives the instructions of a skill, with the directory of its files and
// their list. Load a skill before you begin with a task that it is for, and follow
// it. Some skills run as a task of their own: for them it gives the answer.
//
//hook:tool name=skill trust=workspace waits
func (s *Skills) Load(ctx context.Context, env *hook.Env, in SkillInput) (message.ToolResult, error) {
	name := strings.TrimSpace(in.Name)
	if strings.ContainsAny(name, `/\`) || strings.Contains(name, "..") {
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailArguments, Text: fmt.Sprintf("%q is a path; give the name of a skill", name)}
	}
	turn := turnOf(env.Call)
	if turn == nil {
		return message.ToolResult{}, notFound(name, nil)
	}
	skills := slices.DeleteFunc(s.inTurn(turn), func(k Skill) bool { return k.ManualOnly })
	if name == "" {
		return workspace(list(skills)), nil
	}
	k, ok := find(skills, name)
	if !ok {
		return message.ToolResult{}, notFound(name, skills)
	}
	args := strings.TrimSpace(in.Arguments)
	if k.Fork {
		if g := env.Grant; g.ReadOnly || g.NoNetwork || g.Root != "" || g.Void {
			return message.ToolResult{}, &hook.ToolError{Kind: message.FailDenied, Text: fmt.Sprintf("this call may run with limits only, which cannot be kept for the turn that the skill %q would start", k.Name)}
		}
		answer, trust, err := s.fork(ctx, turn, k, args, env.Call)
		if err != nil {
			return message.ToolResult{}, err
		}
		r := message.TextResult(answer)
		r.Trust = trust
		return r, nil
	}
	s.apply(ctx, turn, k)
	e := expansion{skill: k, args: args, conversation: turn.Conversation().ID()}
	env.Call.Host().Emit(ctx, loaded(k))
	return workspace(e.content()), nil
}

func loaded(k Skill) hook.Event { return hook.Event{Kind: event.SkillLoaded, Text: k.Name} }

// turnOf returns the turn of the call; nil outside a conversation.
func turnOf(call *hook.ToolCall) *hook.Turn {
	if call == nil || call.Step() == nil || call.Step().Turn() == nil || call.Step().Turn().Conversation() == nil {
		return nil
	}
	return call.Step().Turn()
}

func workspace(text string) message.ToolResult {
	r := message.TextResult(text)
	r.Trust = message.TrustWorkspace
	return r
}

func list(skills []Skill) string {
	if len(skills) == 0 {
		return "There are no skills."
	}
	var sb strings.Builder
	sb.WriteString("The skills are:\n")
	for _, k := range skills {
		fmt.Fprintf(&sb, "- %s: %s\n", k.Name, k.listed(maxListed))
	}
	return strings.TrimSuffix(sb.String(), "\n")
}

func notFound(name string, skills []Skill) error {
	text := fmt.Sprintf("There is no skill %q.", name)
	if near := similar(name, skills); len(near) > 0 {
		text += " Do you mean " + strings.Join(near, ", ") + "?"
	} else if len(skills) > 0 {
		text += " Call with an empty name to list them."
	}
	return &hook.ToolError{Kind: message.FailNotFound, Text: text}
}

// maxSimilar limits the names that are suggested for an unknown one.
const maxSimilar = 5

// similar returns names similar to an unknown one: first those of similar spelling, then
// those that contain it, then those whose description does, then those with a word of it.
func similar(name string, skills []Skill) []string {
	name = strings.ToLower(name)
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, k := range skills {
		if score := similarity(name, k); score > 0 {
			found = append(found, scored{k.Name, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	var names []string
	for _, f := range found[:min(len(found), maxSimilar)] {
		names = append(names, f.name)
	}
	return names
}

func similarity(name string, k Skill) int {
	have := strings.ToLower(k.Name)
	switch {
	case spell.Distance(name, have) <= 1+len(have)/5:
		return 4
	case strings.Contains(have, name) || strings.Contains(name, have):
		return 3
	case strings.Contains(strings.ToLower(k.Description), name):
		return 2
	}
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == ' ' }) {
		if len(word) > 2 && strings.Contains(have+" "+strings.ToLower(k.Description), word) {
			return 1
		}
	}
	return 0
}

// Preprocess adds the instructions of a skill behind a message that begins with its
// name: "/release-notes v2". It leaves the message as it is, and adds another one with
// the label "skill": the instructions, or the answer of a skill that runs as a turn of its
// own. It ignores a text whose first word names no skill of the agent. It reads the files
// only for a text that begins with a slash.
func (s *Skills) Preprocess(ctx context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	if t.Parent() != nil {
		s.applyFork(ctx, t)
	}
	if !slash(in) {
		return in, nil
	}
	skills := slices.DeleteFunc(s.inTurn(t), func(k Skill) bool { return k.NotManual })
	var out []message.Message
	for _, m := range in.Messages.All() {
		out = append(out, m)
		name, args := command(m)
		k, ok := find(skills, name)
		if !ok {
			continue
		}
		text, trust := s.started(ctx, t, k, args)
		added := message.UserText(text)
		added.Label, added.Trust = "skill", trust
		out = append(out, added)
	}
	if len(out) == in.Messages.Len() {
		return in, nil
	}
	return message.Input{Messages: message.Freeze(out)}, nil
}

// started returns what a message gets that starts the skill.
func (s *Skills) started(ctx context.Context, t *hook.Turn, k Skill, args string) (text string, trust message.Trust) {
	if k.Fork {
		return s.answered(ctx, t, k, args)
	}
	s.apply(ctx, t, k)
	t.Host().Emit(ctx, loaded(k))
	e := expansion{skill: k, args: args, conversation: t.Conversation().ID()}
	return e.content(), message.TrustWorkspace
}

func slash(in message.Input) bool {
	for _, m := range in.Messages.All() {
		if name, _ := command(m); name != "" {
			return true
		}
	}
	return false
}

// command returns the skill and the arguments that a person's message names; "" if none.
func command(m message.Message) (name, args string) {
	if m.Role != message.RoleUser || m.Label != "" || m.Content.Len() == 0 {
		return "", ""
	}
	first := m.Content.At(0)
	if first.Kind != message.BlockText || !strings.HasPrefix(first.Text, "/") {
		return "", ""
	}
	text := first.Text[1:]
	end := strings.IndexAny(text, " \t\r\n")
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}
