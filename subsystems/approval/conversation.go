package approval

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// answers are the rules of a conversation, by the keys of their covers. The map is never
// changed: updates copy it.
type answers map[string]kept

// kept is a rule of a conversation.
type kept struct {
	answer
	// Conversation is where it was given: a fork has a copy that does not count.
	Conversation string `json:"conversation,omitempty"`
	// Text is the sentence that the person agreed to, Args the beginning of the arguments
	// that it is about. Those of older versions have neither.
	Text  string    `json:"text,omitempty"`
	Tool  string    `json:"tool,omitempty"`
	Args  string    `json:"args,omitempty"`
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// maxArgs limits the arguments that a conversation keeps for people, in characters.
const maxArgs = 200

// keep adds a rule to the state of the conversation.
func (rs *rules) keep(c *hook.Conversation, key string, k kept) {
	k.Args, _ = character.Cut(k.Args, maxArgs)
	rs.conversations.Update(c, func(old answers) answers {
		all := maps.Clone(old)
		if all == nil {
			all = answers{}
		}
		all[key] = k
		return all
	})
}

// InConversation returns the answers that count in the conversation only, the oldest first. Args
// is cut to 200 characters.
func (a *Approval) InConversation(c *hook.Conversation) []Remembered {
	var out []Remembered
	for key, k := range a.conversations.Get(c) {
		if k.Conversation != "" && k.Conversation != c.ID() {
			continue
		}
		out = append(out, Remembered{
			ID: key, Answer: k.Answer, Text: cmp.Or(k.Text, "an answer that an older version has kept without its sentence"),
			Tool: k.Tool, Args: k.Args, Refusal: k.Refusal, By: k.By, Since: k.Since,
		})
	}
	slices.SortFunc(out, func(a, b Remembered) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return out
}

// ForgetInConversation drops the answers of the conversation with these ids of [Approval.InConversation].
// From then on the calls that they covered are asked about again. An id of none is no error.
func (a *Approval) ForgetInConversation(c *hook.Conversation, ids ...string) {
	a.conversations.Update(c, func(old answers) answers {
		all := maps.Clone(old)
		for _, id := range ids {
			delete(all, id)
		}
		return all
	})
}

// Command is a line that people type.
type Command struct{ Name, Argument, Help string }

// Commands returns the lines that the subsystem answers.
func Commands() []Command {
	return []Command{{"approvals", "[forget ID]", "list what is allowed or refused in this conversation, or have calls asked about again"}}
}

// BeforeTurn answers /approvals. An agent that runs another one has no commands.
func (a *Approval) BeforeTurn(_ context.Context, turn *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if turn.Depth() > 0 || in.Messages.Len() != 1 || in.Messages.At(0).Label != "" {
		return hook.TurnDecision{}, nil
	}
	words := strings.Fields(in.Messages.At(0).Text())
	if len(words) == 0 || words[0] != "/approvals" {
		return hook.TurnDecision{}, nil
	}
	all := a.InConversation(turn.Conversation())
	switch {
	case len(words) == 1:
		return hook.RespondTurn(listed(all)), nil
	case len(words) == 3 && words[1] == "forget":
		return hook.RespondTurn(a.forget(turn.Conversation(), all, words[2])), nil
	}
	return hook.RespondTurn("Write /approvals, /approvals forget ID, or /approvals forget all."), nil
}

// forget drops the one answer whose id begins with begin, or all, and says what it did.
func (a *Approval) forget(c *hook.Conversation, all []Remembered, begin string) string {
	found := all
	if begin != "all" {
		found = slices.DeleteFunc(slices.Clone(all), func(r Remembered) bool { return !strings.HasPrefix(r.ID, begin) })
		if len(found) != 1 {
			return fmt.Sprintf("Nothing is forgotten: %d answers of this conversation have an ID that begins so. /approvals lists them.", len(found))
		}
	}
	if len(found) == 0 {
		return "There is nothing to forget."
	}
	var sb strings.Builder
	for _, r := range found {
		a.ForgetInConversation(c, r.ID)
		sb.WriteString("Forgotten: " + r.sentence() + "\n")
	}
	return strings.TrimSuffix(sb.String(), "\n")
}

// shownID is how many characters of an id people are shown.
const shownID = 12

// listed returns the list for people.
func listed(all []Remembered) string {
	var sb strings.Builder
	for _, r := range all {
		fmt.Fprintf(&sb, "- %s: %s\n", r.ID[:min(shownID, len(r.ID))], r.sentence())
	}
	if len(all) == 0 {
		sb.WriteString("Nothing is allowed or refused for this conversation alone.\n")
	}
	sb.WriteString("\nWhat holds longer is in the list of `grapnel approvals list`.")
	return sb.String()
}

// sentence says what is allowed or refused, by whom, and for which arguments.
func (r Remembered) sentence() string {
	what := "allowed"
	if r.Answer == hook.AnswerRefuse {
		what = "refused"
	}
	if r.By != "" {
		what += " by " + r.By
	}
	what += ": " + r.Text
	switch {
	case character.Odd(r.Args) != "":
		what += ": " + plain(r.Args)
	case r.Args != "":
		what += ": " + r.Args
	}
	return what
}
