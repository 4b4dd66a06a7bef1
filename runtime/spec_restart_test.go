package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
)

// A process dies in the middle of a turn. Another one opens the same database:
// everything that was done is there, nothing is done twice unless it may be, and
// the turn can be resumed.

func TestSpecAnInterruptedTurnIsResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	safe, risky, slow := newGate("look"), newGate("pay"), named("echo")
	safe.Annotations.ReadOnly = true
	step := calls(want{"c1", "echo", `{"s":"x"}`}, want{"c2", "look", `{}`}, want{"c3", "pay", `{}`})
	first := boot(t, dir, plays(says("one"), step), runtime.Options{}, box(slow, safe.tool, risky.tool))
	first.send("1")
	first.sends("2")
	turn := first.until(event.TurnStart, 1).Turn
	first.until(event.CallResult, 1)
	<-safe.reached
	<-risky.reached
	first.dies()

	close(safe.open)
	close(risky.open)
	m := plays(says("done"))
	second := boot(t, dir, m, runtime.Options{}, box(slow, safe.tool, risky.tool))
	was, err := second.conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.True(t, was)
	_, err = second.conv.Compact(t.Context(), nil)
	require.ErrorIs(t, err, runtime.ErrBusy, "what has not ended is not summed up")

	second.resumes()
	begun := second.until(event.TurnStart, 1)
	assert.Equal(t, turn, begun.Turn, "it is the same turn")
	out := second.ends()
	require.NoError(t, out.err)
	assert.Equal(t, "done", out.Text())
	assert.Len(t, safe.reached, 1, "a tool that only reads runs again")
	assert.Empty(t, risky.reached, "any other one does not")
	assert.Equal(t, []string{
		"user 1", "assistant one", "user 2",
		`assistant [c1 echo {"s":"x"}] [c2 look {}] [c3 pay {}]`,
		"tool c1 echo: echo:x", "tool c2 look: through",
		"tool c3 pay cancelled: interrupted: the turn broke off while the tool ran; what it did is not known, so look before you call it again",
		"assistant done",
	}, second.history())
	_, err = dialog.Resume(t.Context(), second.conv, nil)
	require.ErrorIs(t, err, runtime.ErrNotInterrupted)
}

func TestSpecWhoSendsInsteadEndsTheInterruptedTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	risky := newGate("pay")
	first := boot(t, dir, plays(calls(want{"c1", "pay", `{}`})), runtime.Options{}, box(risky.tool))
	first.sends("1")
	<-risky.reached
	first.dies()

	m := plays(says("fine"))
	second := boot(t, dir, m, runtime.Options{}, box(risky.tool))
	second.send("never mind")
	lines := second.history()
	require.Len(t, lines, 5)
	assert.Contains(t, lines[2], "tool c1 pay cancelled: interrupted")
	assert.Equal(t, []string{"user never mind", "assistant fine"}, lines[3:])
	assert.Len(t, m.requests, 1, "no model was asked to end it")
}

func TestSpecARewindDropsTheInterruptedTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	risky := newGate("pay")
	first := boot(t, dir, plays(says("one"), calls(want{"c1", "pay", `{}`})), runtime.Options{}, box(risky.tool))
	first.send("1")
	first.sends("2")
	<-risky.reached
	first.dies()

	second := boot(t, dir, plays(says("other")), runtime.Options{}, box(risky.tool))
	require.NoError(t, second.conv.Rewind(t.Context(), 1))
	was, err := second.conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, was)
	second.send("2")
	assert.Equal(t, []string{"user 1", "assistant one", "user 2", "assistant other"}, second.history())
}

func TestSpecATurnThatKillsItsProcessIsNotResumedForEver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deadly := newGate("look")
	deadly.Annotations.ReadOnly = true
	p := boot(t, dir, plays(calls(want{"c1", "look", `{}`})), runtime.Options{}, box(deadly.tool))
	p.sends("1")
	<-deadly.reached
	p.dies()
	for range 2 {
		p = boot(t, dir, plays(), runtime.Options{Limits: runtime.Limits{Resumes: 2}}, box(deadly.tool))
		p.resumes()
		<-deadly.reached
		p.dies()
	}
	p = boot(t, dir, plays(), runtime.Options{Limits: runtime.Limits{Resumes: 2}}, box(deadly.tool))
	p.resumes()
	out := p.ends()
	require.ErrorContains(t, out.err, "resumed as often")
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Empty(t, deadly.reached)
	p.send("2")
}

func TestSpecTwoQuestionsAreAnsweredAfterARestartInAnyOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	people := askuser.New(&askuser.Options{Timeout: -1})
	first := boot(t, dir, plays(calls(want{"c1", "ask_user", question("colour")}, want{"c2", "ask_user", question("size")})), runtime.Options{}, people)
	first.sends("ask me")
	first.until(event.QuestionAsked, 2)
	asked := first.rt.Pending()
	require.Len(t, asked, 2)
	first.dies()
	assert.Empty(t, first.rt.Pending())

	second := boot(t, dir, plays(says("thank you")), runtime.Options{}, people)
	require.ErrorIs(t, second.rt.Answer(second.conv.ID(), asked[0].ID, "ann", choose("this")), runtime.ErrRequestUnknown, "nobody asks yet")
	second.resumes()
	second.until(event.QuestionAsked, 2)
	again := second.rt.Pending()
	require.Len(t, again, 2)
	ids := func(all []runtime.Request) []string { return []string{all[0].ID, all[1].ID} }
	assert.ElementsMatch(t, ids(asked), ids(again), "the questions are the same")

	byHeader := map[string]runtime.Request{}
	for _, q := range again {
		byHeader[q.Questions.At(0).Header] = q
	}
	require.NoError(t, second.rt.Answer(second.conv.ID(), byHeader["size"].ID, "bob", choose("that")))
	given := second.until(event.QuestionGiven, 1).Detail()
	assert.Equal(t, "bob", given.By)
	require.ErrorIs(t, second.rt.Answer(second.conv.ID(), byHeader["size"].ID, "ann", choose("this")), runtime.ErrAnswered)
	require.NoError(t, second.rt.Answer(second.conv.ID(), byHeader["colour"].ID, "ann", choose("this")))
	out := second.ends()
	require.NoError(t, out.err)
	assert.Equal(t, []string{
		"user ask me", "assistant [c1 ask_user " + question("colour") + "] [c2 ask_user " + question("size") + "]",
		"tool c1 ask_user: Which colour? → this", "tool c2 ask_user: Which size? → that", "assistant thank you",
	}, second.history())
}

func question(about string) string {
	return `{"questions":[{"question":"Which ` + about + `?","header":"` + about + `","options":[{"label":"this"},{"label":"that"}]}]}`
}

func choose(label string) hook.Response {
	return hook.Response{Given: message.ListOf(hook.Given{Chosen: message.ListOf(label)})}
}

func TestSpecWhatWasSaidToATurnThatDiedIsNotLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	safe := newGate("look")
	safe.Annotations.ReadOnly = true
	first := boot(t, dir, plays(calls(want{"c1", "look", `{}`})), runtime.Options{}, box(safe.tool))
	first.sends("1")
	<-safe.reached
	for _, line := range []string{"and this", "and that"} {
		require.NoError(t, dialog.Steer(context.Background(), first.conv, message.TextInput(line)))
	}
	first.dies()

	close(safe.open)
	second := boot(t, dir, plays(says("done")), runtime.Options{}, box(safe.tool))
	second.resumes()
	assert.Equal(t, "and this", second.until(event.Steered, 1).Text)
	assert.Equal(t, "and that", second.until(event.Steered, 1).Text)
	require.NoError(t, second.ends().err)
	assert.Equal(t, []string{"user 1", "assistant [c1 look {}]", "tool c1 look: through", "user and this", "user and that", "assistant done"}, second.history())
}
