package skills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// forkKey is the key of the forked skill in the context of the turn that runs it.
type forkKey struct{}

// forked is a skill that runs as a child of the turn with that id.
type forked struct {
	skill  Skill
	parent string
}

// fork runs the skill as a child turn and returns the child's answer. call is the call that loads it; nil if a person does.
func (s *Skills) fork(ctx context.Context, t *hook.Turn, k Skill, args string, call *hook.ToolCall) (text string, trust message.Trust, err error) {
	failed := func(kind message.FailureKind, format string, a ...any) error {
		return &hook.ToolError{Kind: kind, Text: fmt.Sprintf("the skill %q did not run: ", k.Name) + fmt.Sprintf(format, a...)}
	}
	if slices.Contains(s.of(t).Forks, k.Name) {
		return "", "", failed(message.FailDenied, "it runs already, and this is its turn: follow its instructions")
	}
	agent := t.Agent().Name
	if k.Agent != "" && k.Agent != agent {
		if err := s.mayRun(t, k); err != nil {
			return "", "", failed(message.FailDenied, "%s", err)
		}
		agent = k.Agent
	}
	t.Host().Emit(ctx, loaded(k))
	e := expansion{skill: k, args: args, conversation: t.Conversation().ID()}
	run := hook.AgentRun{Agent: agent, Input: message.TextInput(e.content()), Call: call}
	out, err := t.Host().RunAgent(context.WithValue(ctx, forkKey{}, forked{k, t.ID()}), run)
	if why := unfinished(out, err); why != "" {
		return "", "", failed(message.FailOperation, "%s", why)
	}
	return out.Text(), message.Weakest(out.Trust, message.TrustWorkspace), nil
}

// mayRun returns why the turn may not run the agent that the skill chooses.
func (s *Skills) mayRun(t *hook.Turn, k Skill) error {
	if err := s.mayChoose(k); err != nil {
		return fmt.Errorf("its agent %q cannot be used: %w", k.Agent, err)
	}
	if s.o.MayRun == nil {
		return nil
	}
	return s.o.MayRun(t, k.Agent)
}

// unfinished returns why a child has no complete answer; "" if it has one. It leaves out the cause of a hook's failure, which may
// quote secrets.
func unfinished(out hook.TurnOutcome, err error) string {
	var failure *hook.Failure
	if err == nil {
		err = out.Err
	}
	switch {
	case errors.Is(err, hook.ErrDepth), errors.Is(err, hook.ErrChildren):
		return "no more agents can be run for this request; do the task without the skill"
	case errors.Is(err, hook.ErrNoTurn):
		return "no agent can be run here"
	case errors.As(err, &failure):
		return failure.Public()
	case out.Stop == hook.StopCancelled:
		return "cancelled before it had finished"
	case err != nil:
		return err.Error()
	case out.Stop != hook.StopCompleted:
		return "it stopped before it had finished: " + string(out.Stop)
	}
	return ""
}

// applyFork makes a child turn the turn of the skill that it runs, if it runs one.
func (s *Skills) applyFork(ctx context.Context, t *hook.Turn) {
	f, _ := ctx.Value(forkKey{}).(forked)
	above := s.of(t.Parent()).Forks
	if f.parent != t.Parent().ID() {
		if len(above) > 0 && !slices.Equal(s.of(t).Forks, above) {
			s.change(t, func(a active) active {
				a.Forks = above
				return a
			})
		}
		return
	}
	s.apply(ctx, t, f.skill)
	s.change(t, func(a active) active {
		a.Forks = append(slices.Clip(above), f.skill.Name)
		return a
	})
}

// answered runs the skill that a person has started and returns its answer for the model. The answer cannot end its tag.
func (s *Skills) answered(ctx context.Context, t *hook.Turn, k Skill, args string) (text string, trust message.Trust) {
	answer, trust, err := s.fork(ctx, t, k, args, nil)
	if err != nil {
		answer, trust = err.Error(), message.TrustExternal
	}
	answer = strings.ReplaceAll(answer, "</skill_result", "&lt;/skill_result")
	return fmt.Sprintf("The skill ran as a task of its own. Tell the person what came of it.\n<skill_result name=\"%s\">\n%s\n</skill_result>", escape(k.Name), answer), trust
}
