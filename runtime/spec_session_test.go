package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A session is the time in which a process works on a conversation. It begins with
// the first turn, if OnSessionStart lets it, and ends once.

func TestSpecASessionBeginsOnceBeforeTheFirstTurnAndEndsOnceWithItsTotals(t *testing.T) {
	t.Parallel()
	alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
		var log []string
		var begun, ended []*hook.Session
		var inTurns []hook.Totals
		h := &life{toolbox: box(named("echo"))}
		h.sessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
			log, begun = append(log, "start"), append(begun, s)
			return hook.SessionDecision{}, nil
		}
		h.preprocess = func(turn *hook.Turn, in message.Input) (message.Input, error) {
			log = append(log, "preprocess")
			assert.Same(t, begun[0], turn.Session())
			return in, nil
		}
		h.afterTurn = func(turn *hook.Turn, _ hook.TurnOutcome) { inTurns = append(inTurns, turn.Session().Totals()) }
		h.sessionEnd = func(s *hook.Session) { log, ended = append(log, "end"), append(ended, s) }
		w := start(t, plays(calls(want{"c1", "echo", `{}`}), says("one"), says("two")), with(h)...)
		w.send("1")
		w.send("2")
		require.NoError(t, w.rt.Close(t.Context()))

		assert.Equal(t, []string{"start", "preprocess", "preprocess", "end"}, log)
		require.Len(t, begun, 1)
		assert.Same(t, begun[0], ended[0])
		s := begun[0]
		assert.NotEmpty(t, s.ID())
		assert.Equal(t, hook.SessionStartup, s.Source())
		assert.False(t, s.Started().IsZero())
		assert.Equal(t, w.conv.ID(), s.Conversation().ID())
		assert.Equal(t, "a", s.Agent().Name)
		assert.Equal(t, []int{1, 2}, []int{inTurns[0].Turns, inTurns[1].Turns}, "a turn that has ended counts")
		total := s.Totals()
		assert.Equal(t, 2, total.Turns)
		assert.Equal(t, 1, total.Calls)
		assert.Equal(t, message.Usage{Input: 30, Output: 15}, total.Usage)
		assert.Positive(t, total.Duration)
	})
}

func TestSpecUnregisteringAnAgentEndsItsSessions(t *testing.T) {
	t.Parallel()
	var log []string
	h := &life{toolbox: box()}
	h.sessionEnd = func(s *hook.Session) { log = append(log, s.Conversation().Sender()) }
	w := start(t, plays(), h)
	w.send("1")
	other, err := dialog.Conversation(t.Context(), w.rt, "a", "bob")
	require.NoError(t, err)
	_, err = dialog.Send(t.Context(), other, message.TextInput("1"), nil)
	require.NoError(t, err)
	_, err = dialog.Conversation(t.Context(), w.rt, "a", "never said anything")
	require.NoError(t, err)

	require.NoError(t, w.rt.Unregister(t.Context(), "a"))
	assert.Equal(t, []string{"ann", "bob"}, log)
	require.NoError(t, w.rt.Close(t.Context()))
	assert.Len(t, log, 2, "and not again")
}

func TestSpecSourcesOfSessions(t *testing.T) {
	t.Parallel()
	type seen struct {
		sender string
		source hook.SessionSource
	}
	var log []seen
	var ends int
	h := &life{toolbox: box()}
	ids := map[string]bool{}
	h.sessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
		log = append(log, seen{s.Conversation().Sender(), s.Source()})
		assert.False(t, ids[s.ID()], "ids are unique")
		ids[s.ID()] = true
		return hook.SessionDecision{}, nil
	}
	h.sessionEnd = func(*hook.Session) { ends++ }
	o := &runtime.Options{Store: mem.New(nil)}
	first := startWith(t, plays(says("one")), hook.AgentConfig{Name: "a"}, o, h)
	first.send("1")
	require.NoError(t, first.rt.Close(t.Context()))
	assert.Equal(t, 1, ends)

	w := startWith(t, plays(says("two"), says("The summary."), says("three")), hook.AgentConfig{Name: "a"}, o, h)
	w.send("2")
	fork, err := w.conv.Fork(t.Context(), 1, "fork")
	require.NoError(t, err)
	for range 2 {
		_, err = dialog.Send(t.Context(), fork, message.TextInput("2, otherwise"), nil)
		require.NoError(t, err)
	}
	_, err = w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1})
	require.NoError(t, err)
	assert.Equal(t, 2, ends, "the model has another past: the session is over")
	w.send("3")
	require.NoError(t, fork.Rewind(t.Context(), 1))
	assert.Equal(t, 2, ends, "a part of the past is still there")
	_, err = dialog.Send(t.Context(), fork, message.TextInput("2, once more"), nil)
	require.NoError(t, err)
	require.NoError(t, fork.Rewind(t.Context(), 0))
	assert.Equal(t, 3, ends)
	_, err = dialog.Send(t.Context(), fork, message.TextInput("1"), nil)
	require.NoError(t, err)
	require.NoError(t, w.rt.Close(t.Context()))
	assert.Equal(t, 5, ends)

	assert.Equal(t, []seen{
		{"ann", hook.SessionStartup}, {"ann", hook.SessionResume}, {"fork", hook.SessionFork},
		{"ann", hook.SessionCompact}, {"fork", hook.SessionClear},
	}, log)
}

func TestSpecARejectedSessionEndsTheTurnAndTheNextTurnAsksAgain(t *testing.T) {
	t.Parallel()
	alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		var asked, ended int
		var outcomes []hook.TurnOutcome
		var before message.List[message.Message]
		h := &life{toolbox: box()}
		h.sessionStart = func(*hook.Session) (hook.SessionDecision, error) {
			if asked++; asked == 1 {
				return hook.RejectSession("not today"), nil
			}
			return hook.SessionDecision{}, nil
		}
		h.preprocess = func(_ *hook.Turn, in message.Input) (message.Input, error) {
			before = before.Append(in.Messages.At(0))
			return in, nil
		}
		h.afterTurn = func(turn *hook.Turn, out hook.TurnOutcome) {
			assert.NotNil(t, turn.Session())
			outcomes = append(outcomes, out)
		}
		h.sessionEnd = func(*hook.Session) { ended++ }
		w := start(t, plays(says("hi")), with(h)...)

		out, err := w.try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRejected)
		assert.ErrorContains(t, err, "not today")
		assert.ErrorContains(t, err, path)
		assert.Equal(t, hook.StopDenied, out.Stop)
		assert.Equal(t, []hook.StopSignal{{Reason: hook.StopDenied, By: path, Text: "not today"}}, out.Signals.Slice())
		assert.Zero(t, before.Len(), "Preprocess is not called")
		assert.Empty(t, w.history())
		assert.Equal(t, []hook.EventKind{event.TurnStart, event.Error, event.TurnEnd}, w.kinds())
		require.Len(t, outcomes, 1, "AfterTurn is")
		assert.Empty(t, w.model.requests)

		assert.Equal(t, "hi", w.send("2").Text())
		w.send("3")
		assert.Equal(t, 2, asked)
		assert.Zero(t, ended)
		require.NoError(t, w.rt.Close(t.Context()))
		assert.Equal(t, 1, ended, "what never began does not end")
	})
}

func TestSpecContextOfASessionIsSentOnceAndNotStored(t *testing.T) {
	t.Parallel()
	rejects := false
	h := &life{toolbox: box()}
	h.sessionStart = func(*hook.Session) (hook.SessionDecision, error) { return hook.ContextSession("the sky is red"), nil }
	h.beforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
		if rejects = !rejects; rejects {
			return hook.RespondTurn("later"), nil
		}
		return hook.TurnDecision{}, nil
	}
	also := point.OnSessionStartFunc(func(context.Context, *hook.Session) (hook.SessionDecision, error) {
		return hook.ContextSession("and low"), nil
	})
	w := start(t, plays(says("one"), says("two")), h, also)
	w.send("0")
	w.send("1") // the first turn in which the model is asked
	w.send("1½")
	w.send("2")
	require.Len(t, w.model.requests, 2)
	var told []string
	for _, m := range w.model.requests[0].Messages.All() {
		told = append(told, m.Label+" "+m.Text())
		assert.Equal(t, m.Label != "", m.Ephemeral)
	}
	assert.Equal(t, []string{" 0", " later", " 1", "session the sky is red", "session and low"}, told)
	for _, m := range w.model.requests[1].Messages.All() {
		assert.Empty(t, m.Label)
	}
	assert.Equal(t, []string{"user 0", "assistant later", "user 1", "assistant one", "user 1½", "assistant later", "user 2", "assistant two"}, w.history())
}

func TestSpecAChildHasASessionOfItsOwnThatEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	var log []string
	h := &life{toolbox: box()}
	h.tools = []tool{{message.Tool{Name: "hand", Waits: true}, func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "helper", Input: message.TextInput("task"), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(out.Text())
	}}}
	h.sessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
		log = append(log, "start "+s.Agent().Name)
		if s.Agent().Name == "helper" && len(log) > 4 {
			return hook.RejectSession("no more help"), nil
		}
		return hook.SessionDecision{}, nil
	}
	h.sessionEnd = func(s *hook.Session) {
		log = append(log, "end "+s.Agent().Name)
		assert.Equal(t, 1, s.Totals().Turns)
	}
	h.afterTurn = func(turn *hook.Turn, _ hook.TurnOutcome) { log = append(log, "turn of "+turn.Session().Agent().Name) }
	c := cast{"chief": plays(calls(want{"c1", "hand", `{}`}), calls(want{"c2", "hand", `{}`}), says("done")), "helper": plays(says("helped"))}
	w := stage(t, c, nil, agents("chief", "helper"), h)
	w.send("go")
	require.NoError(t, w.rt.Close(t.Context()))
	assert.Equal(t, []string{
		"start chief", "start helper", "turn of helper", "end helper",
		"start helper", "turn of helper", "turn of chief", "end chief",
	}, log)
	assert.Equal(t, "helped", w.results()[0])
	assert.Contains(t, w.results()[1], "no more help", "gates follow delegation")
}

func TestSpecAResumedTurnBeginsANewSessionAndIsNotDecidedAgain(t *testing.T) {
	t.Parallel()
	dir, tool := t.TempDir(), newGate("wait")
	var log []string
	h := &life{toolbox: box(tool.tool)}
	h.sessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
		log = append(log, "session "+string(s.Source()))
		return hook.ContextSession("context"), nil
	}
	h.beforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
		log = append(log, "turn")
		return hook.TurnDecision{}, nil
	}
	h.afterStep = func(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error) {
		log = append(log, "step")
		return hook.StepDecision{}, nil
	}
	p := boot(t, dir, plays(calls(want{"c1", "wait", `{}`})), runtime.Options{}, h)
	p.sends("go")
	<-tool.reached
	p.dies()
	assert.Equal(t, []string{"session startup", "turn", "step"}, log)

	log = nil
	m := plays(says("done"))
	p = boot(t, dir, m, runtime.Options{}, h)
	p.resumes()
	require.NoError(t, p.ends().err)
	assert.Equal(t, []string{"session resume", "step", "step"}, log)
	assert.Equal(t, []string{
		"user go", "session! user context", "assistant [c1 wait {}]", "tool c1 wait cancelled: interrupted",
	}, cut(m.shown(0), 35))
}

func TestSpecATurnIsBroughtToItsEndWithoutASession(t *testing.T) {
	t.Parallel()
	for _, rejects := range []bool{false, true} {
		dir, tool := t.TempDir(), newGate("wait")
		p := boot(t, dir, plays(calls(want{"c1", "wait", `{}`})), runtime.Options{}, box(tool.tool))
		p.sends("go")
		<-tool.reached
		p.dies()

		var log []string
		h := &life{toolbox: box(tool.tool)}
		h.sessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
			log = append(log, "session")
			if rejects {
				return hook.RejectSession("no"), nil
			}
			return hook.SessionDecision{}, nil
		}
		h.afterTurn = func(turn *hook.Turn, out hook.TurnOutcome) {
			assert.NotNil(t, turn.Session())
			log = append(log, string(out.Stop))
		}
		p = boot(t, dir, plays(says("hi")), runtime.Options{}, h)
		if rejects { // a turn that may not continue is ended
			p.resumes()
			require.ErrorIs(t, p.ends().err, runtime.ErrRejected)
			assert.Equal(t, []string{"session", "denied"}, log)
		} else {
			p.sends("again")
			require.NoError(t, p.ends().err)
			assert.Equal(t, []string{"cancelled", "session", "completed"}, log)
		}
		lines := p.history()
		assert.Contains(t, lines[2], "interrupted")
	}
}

// cut cuts lines to a length.
func cut(lines []string, n int) []string {
	for i, s := range lines {
		lines[i] = s[:min(n, len(s))]
	}
	return lines
}
