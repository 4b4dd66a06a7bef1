package tasks

import (
	"context"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// progress is how far a turn is with its list.
type progress struct {
	// shown is the last step in which the model wrote the list or was reminded of it; 0 is
	// the beginning of the turn.
	shown int
}

// TurnContext shows the plan and the tasks, as long as something is open.
func (t *Tasks) TurnContext(_ context.Context, turn *hook.Turn) ([]hook.ContextBlock, error) {
	if _, ok := t.of(turn.Agent()); !ok {
		return nil, nil
	}
	l := t.list.Get(turn.Conversation())
	if l.done() {
		return nil, nil
	}
	return []hook.ContextBlock{{Domain: "tasks", ID: "list", Trust: message.TrustTrusted, Text: "Your plan and tasks, as you have written them. " +
		"They are notes of yours, and no message of the user.\n\n" + l.Markdown()}}, nil
}

// AfterTool reminds the model of open tasks that it has not touched for some steps.
func (t *Tasks) AfterTool(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
	if call.Step() == nil || call.Step().Turn() == nil {
		return hook.OutcomeDecision{}, nil
	}
	step, turn := call.Step().Number(), call.Step().Turn()
	s, ok := t.of(turn.Agent())
	if !ok || s.remind < 0 || step < s.remind || step-t.turn.Get(turn).shown < s.remind {
		return hook.OutcomeDecision{}, nil
	}
	l := t.list.Get(turn.Conversation())
	if l.Open() == 0 {
		return hook.OutcomeDecision{}, nil
	}
	t.turn.Update(turn, func(p progress) progress { p.shown = step; return p })
	return hook.ContextOutcome(fmt.Sprintf("%d of your tasks are open. Write the list again if something has changed.\n\n%s", l.Open(), l.Markdown())), nil
}

// Command is a line that people type.
type Command struct{ Name, Argument, Help string }

// Commands returns the lines that the subsystem answers.
func Commands() []Command {
	return []Command{{"tasks", "[clear]", "show the agent's plan and tasks, or drop them"}}
}

// Has reports whether the agent has tasks.
func Has(cfg *hook.AgentConfig) bool {
	_, ok, err := settingsOf(cfg)
	return ok && err == nil
}

// BeforeTurn answers /tasks. An agent that runs another one has no commands.
func (t *Tasks) BeforeTurn(ctx context.Context, turn *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if turn.Depth() > 0 || in.Messages.Len() != 1 || in.Messages.At(0).Label != "" {
		return hook.TurnDecision{}, nil
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(in.Messages.At(0).Text()), " ")
	if name != "/tasks" {
		return hook.TurnDecision{}, nil
	}
	if _, ok := t.of(turn.Agent()); !ok {
		return hook.TurnDecision{}, nil
	}
	switch strings.TrimSpace(rest) {
	case "":
		if text := t.list.Get(turn.Conversation()).Markdown(); text != "" {
			return hook.RespondTurn(text), nil
		}
		return hook.RespondTurn("There are no tasks and no plan."), nil
	case "clear":
		tell(ctx, turn.Host(), t.list.Update(turn.Conversation(), func(List) List { return List{} }))
		return hook.RespondTurn("The tasks and the plan are dropped."), nil
	}
	return hook.RespondTurn("Write /tasks, or /tasks clear."), nil
}
