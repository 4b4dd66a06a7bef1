package agents_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A session is the time in which a process works on a conversation. It begins with
// the first turn, if OnSessionStart lets it, and ends once.

func TestSpecASessionBeginsOnceBeforeTheFirstTurnAndEndsOnceWithItsTotals(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
		var log []string
		var begun, ended []*hook.Session
		var inTurns []hook.Totals
		h := &rig.Life{Toolbox: rig.Box(rig.Named("echo"))}
		h.AtSessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
			log, begun = append(log, "start"), append(begun, s)
			return hook.SessionDecision{}, nil
		}
		h.AtPreprocess = func(turn *hook.Turn, in message.Input) (message.Input, error) {
			log = append(log, "preprocess")
			assert.Same(t, begun[0], turn.Session())
			return in, nil
		}
		h.AtAfterTurn = func(turn *hook.Turn, _ hook.TurnOutcome) { inTurns = append(inTurns, turn.Session().Totals()) }
		h.AtSessionEnd = func(s *hook.Session) { log, ended = append(log, "end"), append(ended, s) }
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("one"), rig.Says("two")), with(h)...)
		w.Send("1")
		w.Send("2")
		require.NoError(t, w.Runtime.Close(t.Context()))

		assert.Equal(t, []string{"start", "preprocess", "preprocess", "end"}, log)
		require.Len(t, begun, 1)
		assert.Same(t, begun[0], ended[0])
		s := begun[0]
		assert.NotEmpty(t, s.ID())
		assert.Equal(t, hook.SessionStartup, s.Source())
		assert.False(t, s.Started().IsZero())
		assert.Equal(t, w.Conv.ID(), s.Conversation().ID())
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
	h := &rig.Life{Toolbox: rig.Box()}
	h.AtSessionEnd = func(s *hook.Session) { log = append(log, s.Conversation().Sender()) }
	w := rig.Start(t, rig.Plays(), h)
	w.Send("1")
	other, err := dialog.Conversation(t.Context(), w.Runtime, "a", "bob")
	require.NoError(t, err)
	_, err = dialog.Send(t.Context(), other, message.TextInput("1"), nil)
	require.NoError(t, err)
	_, err = dialog.Conversation(t.Context(), w.Runtime, "a", "never said anything")
	require.NoError(t, err)

	require.NoError(t, w.Runtime.Unregister(t.Context(), "a"))
	assert.Equal(t, []string{"ann", "bob"}, log)
	require.NoError(t, w.Runtime.Close(t.Context()))
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
	h := &rig.Life{Toolbox: rig.Box()}
	ids := map[string]bool{}
	h.AtSessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
		log = append(log, seen{s.Conversation().Sender(), s.Source()})
		assert.False(t, ids[s.ID()], "ids are unique")
		ids[s.ID()] = true
		return hook.SessionDecision{}, nil
	}
	h.AtSessionEnd = func(*hook.Session) { ends++ }
	o := &runtime.Options{Store: mem.New(nil)}
	first := rig.StartWith(t, rig.Plays(rig.Says("one")), hook.AgentConfig{Name: "a"}, o, h)
	first.Send("1")
	require.NoError(t, first.Runtime.Close(t.Context()))
	assert.Equal(t, 1, ends)

	w := rig.StartWith(t, rig.Plays(rig.Says("two"), rig.Says("The summary."), rig.Says("three")), hook.AgentConfig{Name: "a"}, o, h)
	w.Send("2")
	fork, err := w.Conv.Fork(t.Context(), 1, "fork")
	require.NoError(t, err)
	for range 2 {
		_, err = dialog.Send(t.Context(), fork, message.TextInput("2, otherwise"), nil)
		require.NoError(t, err)
	}
	_, err = w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1})
	require.NoError(t, err)
	assert.Equal(t, 2, ends, "the model has another past: the session is over")
	w.Send("3")
	require.NoError(t, fork.Rewind(t.Context(), 1))
	assert.Equal(t, 2, ends, "a part of the past is still there")
	_, err = dialog.Send(t.Context(), fork, message.TextInput("2, once more"), nil)
	require.NoError(t, err)
	require.NoError(t, fork.Rewind(t.Context(), 0))
	assert.Equal(t, 3, ends)
	_, err = dialog.Send(t.Context(), fork, message.TextInput("1"), nil)
	require.NoError(t, err)
	require.NoError(t, w.Runtime.Close(t.Context()))
	assert.Equal(t, 5, ends)

	assert.Equal(t, []seen{
		{"ann", hook.SessionStartup}, {"ann", hook.SessionResume}, {"fork", hook.SessionFork},
		{"ann", hook.SessionCompact}, {"fork", hook.SessionClear},
	}, log)
}

func TestSpecARejectedSessionEndsTheTurnAndTheNextTurnAsksAgain(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		var asked, ended int
		var outcomes []hook.TurnOutcome
		var before message.List[message.Message]
		h := &rig.Life{Toolbox: rig.Box()}
		h.AtSessionStart = func(*hook.Session) (hook.SessionDecision, error) {
			if asked++; asked == 1 {
				return hook.RejectSession("not today"), nil
			}
			return hook.SessionDecision{}, nil
		}
		h.AtPreprocess = func(_ *hook.Turn, in message.Input) (message.Input, error) {
			before = before.Append(in.Messages.At(0))
			return in, nil
		}
		h.AtAfterTurn = func(turn *hook.Turn, out hook.TurnOutcome) {
			assert.NotNil(t, turn.Session())
			outcomes = append(outcomes, out)
		}
		h.AtSessionEnd = func(*hook.Session) { ended++ }
		w := rig.Start(t, rig.Plays(rig.Says("hi")), with(h)...)

		out, err := w.Try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRejected)
		assert.ErrorContains(t, err, "not today")
		assert.ErrorContains(t, err, path)
		assert.Equal(t, hook.StopDenied, out.Stop)
		assert.Equal(t, []hook.StopSignal{{Reason: hook.StopDenied, By: path, Text: "not today"}}, out.Signals.Slice())
		assert.Zero(t, before.Len(), "Preprocess is not called")
		assert.Empty(t, w.History())
		assert.Equal(t, []hook.EventKind{event.TurnStart, event.Error, event.TurnEnd}, w.Kinds())
		require.Len(t, outcomes, 1, "AfterTurn is")
		assert.Empty(t, w.Model.Requests)

		assert.Equal(t, "hi", w.Send("2").Text())
		w.Send("3")
		assert.Equal(t, 2, asked)
		assert.Zero(t, ended)
		require.NoError(t, w.Runtime.Close(t.Context()))
		assert.Equal(t, 1, ended, "what never began does not end")
	})
}

func TestSpecContextOfASessionIsSentOnceAndNotStored(t *testing.T) {
	t.Parallel()
	rejects := false
	h := &rig.Life{Toolbox: rig.Box()}
	h.AtSessionStart = func(*hook.Session) (hook.SessionDecision, error) { return hook.ContextSession("the sky is red"), nil }
	h.AtBeforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
		if rejects = !rejects; rejects {
			return hook.RespondTurn("later"), nil
		}
		return hook.TurnDecision{}, nil
	}
	also := point.OnSessionStartFunc(func(context.Context, *hook.Session) (hook.SessionDecision, error) {
		return hook.ContextSession("and low"), nil
	})
	w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two")), h, also)
	w.Send("0")
	w.Send("1") // the first turn in which the model is asked
	w.Send("1½")
	w.Send("2")
	require.Len(t, w.Model.Requests, 2)
	var told []string
	for _, m := range w.Model.Requests[0].Messages.All() {
		told = append(told, m.Label+" "+m.Text())
		assert.Equal(t, m.Label != "", m.Ephemeral)
	}
	assert.Equal(t, []string{" 0", " later", " 1", "session the sky is red", "session and low"}, told)
	for _, m := range w.Model.Requests[1].Messages.All() {
		assert.Empty(t, m.Label)
	}
	assert.Equal(t, []string{"user 0", "assistant later", "user 1", "assistant one", "user 1½", "assistant later", "user 2", "assistant two"}, w.History())
}

func TestSpecAChildHasASessionOfItsOwnThatEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	var log []string
	h := &rig.Life{Toolbox: rig.Box()}
	h.Tools = []rig.Tool{{Tool: message.Tool{Name: "hand", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "helper", Input: message.TextInput("task"), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(out.Text())
	}}}
	h.AtSessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
		log = append(log, "start "+s.Agent().Name)
		if s.Agent().Name == "helper" && len(log) > 4 {
			return hook.RejectSession("no more help"), nil
		}
		return hook.SessionDecision{}, nil
	}
	h.AtSessionEnd = func(s *hook.Session) {
		log = append(log, "end "+s.Agent().Name)
		assert.Equal(t, 1, s.Totals().Turns)
	}
	h.AtAfterTurn = func(turn *hook.Turn, _ hook.TurnOutcome) { log = append(log, "turn of "+turn.Session().Agent().Name) }
	c := rig.Cast{"chief": rig.Plays(rig.Calls(rig.Call("c1", "hand", `{}`)), rig.Calls(rig.Call("c2", "hand", `{}`)), rig.Says("done")), "helper": rig.Plays(rig.Says("helped"))}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "helper"), h)
	w.Send("go")
	require.NoError(t, w.Runtime.Close(t.Context()))
	assert.Equal(t, []string{
		"start chief", "start helper", "turn of helper", "end helper",
		"start helper", "turn of helper", "turn of chief", "end chief",
	}, log)
	assert.Equal(t, "helped", w.Results()[0])
	assert.Contains(t, w.Results()[1], "no more help", "gates follow delegation")
}

func TestSpecAResumedTurnBeginsANewSessionAndIsNotDecidedAgain(t *testing.T) {
	t.Parallel()
	dir, tool := t.TempDir(), rig.NewGate("wait")
	var log []string
	h := &rig.Life{Toolbox: rig.Box(tool.Tool)}
	h.AtSessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
		log = append(log, "session "+string(s.Source()))
		return hook.ContextSession("context"), nil
	}
	h.AtBeforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
		log = append(log, "turn")
		return hook.TurnDecision{}, nil
	}
	h.AtAfterStep = func(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error) {
		log = append(log, "step")
		return hook.StepDecision{}, nil
	}
	p := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`))), runtime.Options{}, h)
	p.Sends("go")
	<-tool.Reached
	p.Dies()
	assert.Equal(t, []string{"session startup", "turn", "step"}, log)

	log = nil
	m := rig.Plays(rig.Says("done"))
	p = rig.Boot(t, dir, m, runtime.Options{}, h)
	p.Resumes()
	require.NoError(t, p.Ends().Returned)
	assert.Equal(t, []string{"session resume", "step", "step"}, log)
	assert.Equal(t, []string{
		"user go", "session! user context", "assistant [c1 wait {}]", "tool c1 wait cancelled: interrupted",
	}, cut(m.Shown(0), 35))
}

func TestSpecATurnIsBroughtToItsEndWithoutASession(t *testing.T) {
	t.Parallel()
	for _, rejects := range []bool{false, true} {
		dir, tool := t.TempDir(), rig.NewGate("wait")
		p := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`))), runtime.Options{}, rig.Box(tool.Tool))
		p.Sends("go")
		<-tool.Reached
		p.Dies()

		var log []string
		h := &rig.Life{Toolbox: rig.Box(tool.Tool)}
		h.AtSessionStart = func(s *hook.Session) (hook.SessionDecision, error) {
			log = append(log, "session")
			if rejects {
				return hook.RejectSession("no"), nil
			}
			return hook.SessionDecision{}, nil
		}
		h.AtAfterTurn = func(turn *hook.Turn, out hook.TurnOutcome) {
			assert.NotNil(t, turn.Session())
			log = append(log, string(out.Stop))
		}
		p = rig.Boot(t, dir, rig.Plays(rig.Says("hi")), runtime.Options{}, h)
		if rejects { // a turn that may not continue is ended
			p.Resumes()
			require.ErrorIs(t, p.Ends().Returned, runtime.ErrRejected)
			assert.Equal(t, []string{"session", "denied"}, log)
		} else {
			p.Sends("again")
			require.NoError(t, p.Ends().Returned)
			assert.Equal(t, []string{"cancelled", "session", "completed"}, log)
		}
		lines := p.History()
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
