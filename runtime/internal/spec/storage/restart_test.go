package storage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
)

// A process dies in the middle of a turn. Another one opens the same database:
// everything that was done is there, nothing is done twice unless it may be, and
// the turn can be resumed.

func TestSpecAnInterruptedTurnIsResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	safe, risky, slow := rig.NewGate("look"), rig.NewGate("pay"), rig.Named("echo")
	safe.Annotations.ReadOnly = true
	step := rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`), rig.Call("c2", "look", `{}`), rig.Call("c3", "pay", `{}`))
	first := rig.Boot(t, dir, rig.Plays(rig.Says("one"), step), runtime.Options{}, rig.Box(slow, safe.Tool, risky.Tool))
	first.Send("1")
	first.Sends("2")
	turn := first.Until(event.TurnStart, 1).Turn
	first.Until(event.CallResult, 1)
	<-safe.Reached
	<-risky.Reached
	first.Dies()

	close(safe.Open)
	close(risky.Open)
	m := rig.Plays(rig.Says("done"))
	second := rig.Boot(t, dir, m, runtime.Options{}, rig.Box(slow, safe.Tool, risky.Tool))
	was, err := second.Conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.True(t, was)
	_, err = second.Conv.Compact(t.Context(), nil)
	require.ErrorIs(t, err, runtime.ErrBusy, "what has not ended is not summed up")

	second.Resumes()
	begun := second.Until(event.TurnStart, 1)
	assert.Equal(t, turn, begun.Turn, "it is the same turn")
	out := second.Ends()
	require.NoError(t, out.Returned)
	assert.Equal(t, "done", out.Text())
	assert.Len(t, safe.Reached, 1, "a tool that only reads runs again")
	assert.Empty(t, risky.Reached, "any other one does not")
	assert.Equal(t, []string{
		"user 1", "assistant one", "user 2",
		`assistant [c1 echo {"s":"x"}] [c2 look {}] [c3 pay {}]`,
		"tool c1 echo: echo:x", "tool c2 look: through",
		"tool c3 pay cancelled: interrupted: the turn broke off while the tool ran; what it did is not known, so look before you call it again",
		"assistant done",
	}, second.History())
	_, err = dialog.Resume(t.Context(), second.Conv, nil)
	require.ErrorIs(t, err, runtime.ErrNotInterrupted)
}

func TestSpecWhoSendsInsteadEndsTheInterruptedTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	risky := rig.NewGate("pay")
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "pay", `{}`))), runtime.Options{}, rig.Box(risky.Tool))
	first.Sends("1")
	<-risky.Reached
	first.Dies()

	m := rig.Plays(rig.Says("fine"))
	second := rig.Boot(t, dir, m, runtime.Options{}, rig.Box(risky.Tool))
	second.Send("never mind")
	lines := second.History()
	require.Len(t, lines, 5)
	assert.Contains(t, lines[2], "tool c1 pay cancelled: interrupted")
	assert.Equal(t, []string{"user never mind", "assistant fine"}, lines[3:])
	assert.Len(t, m.Requests, 1, "no model was asked to end it")
}

func TestSpecARewindDropsTheInterruptedTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	risky := rig.NewGate("pay")
	first := rig.Boot(t, dir, rig.Plays(rig.Says("one"), rig.Calls(rig.Call("c1", "pay", `{}`))), runtime.Options{}, rig.Box(risky.Tool))
	first.Send("1")
	first.Sends("2")
	<-risky.Reached
	first.Dies()

	second := rig.Boot(t, dir, rig.Plays(rig.Says("other")), runtime.Options{}, rig.Box(risky.Tool))
	require.NoError(t, second.Conv.Rewind(t.Context(), 1))
	was, err := second.Conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, was)
	second.Send("2")
	assert.Equal(t, []string{"user 1", "assistant one", "user 2", "assistant other"}, second.History())
}

func TestSpecATurnThatKillsItsProcessIsNotResumedForEver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deadly := rig.NewGate("look")
	deadly.Annotations.ReadOnly = true
	p := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "look", `{}`))), runtime.Options{}, rig.Box(deadly.Tool))
	p.Sends("1")
	<-deadly.Reached
	p.Dies()
	for range 2 {
		p = rig.Boot(t, dir, rig.Plays(), runtime.Options{Limits: runtime.Limits{Resumes: 2}}, rig.Box(deadly.Tool))
		p.Resumes()
		<-deadly.Reached
		p.Dies()
	}
	p = rig.Boot(t, dir, rig.Plays(), runtime.Options{Limits: runtime.Limits{Resumes: 2}}, rig.Box(deadly.Tool))
	p.Resumes()
	out := p.Ends()
	require.ErrorContains(t, out.Returned, "resumed as often")
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Empty(t, deadly.Reached)
	p.Send("2")
}

func TestSpecTwoQuestionsAreAnsweredAfterARestartInAnyOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	people := askuser.New(&askuser.Options{Timeout: -1})
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "ask_user", question("colour")), rig.Call("c2", "ask_user", question("size")))), runtime.Options{}, people)
	first.Sends("ask me")
	first.Until(event.QuestionAsked, 2)
	asked := first.Runtime.Pending()
	require.Len(t, asked, 2)
	first.Dies()
	assert.Empty(t, first.Runtime.Pending())

	second := rig.Boot(t, dir, rig.Plays(rig.Says("thank you")), runtime.Options{}, people)
	require.ErrorIs(t, second.Runtime.Answer(second.Conv.ID(), asked[0].ID, "ann", choose("this")), runtime.ErrRequestUnknown, "nobody asks yet")
	second.Resumes()
	second.Until(event.QuestionAsked, 2)
	again := second.Runtime.Pending()
	require.Len(t, again, 2)
	ids := func(all []runtime.Request) []string { return []string{all[0].ID, all[1].ID} }
	assert.ElementsMatch(t, ids(asked), ids(again), "the questions are the same")

	byHeader := map[string]runtime.Request{}
	for _, q := range again {
		byHeader[q.Questions.At(0).Header] = q
	}
	require.NoError(t, second.Runtime.Answer(second.Conv.ID(), byHeader["size"].ID, "bob", choose("that")))
	given := second.Until(event.QuestionGiven, 1).Detail()
	assert.Equal(t, "bob", given.By)
	require.ErrorIs(t, second.Runtime.Answer(second.Conv.ID(), byHeader["size"].ID, "ann", choose("this")), runtime.ErrAnswered)
	require.NoError(t, second.Runtime.Answer(second.Conv.ID(), byHeader["colour"].ID, "ann", choose("this")))
	out := second.Ends()
	require.NoError(t, out.Returned)
	assert.Equal(t, []string{
		"user ask me", "assistant [c1 ask_user " + question("colour") + "] [c2 ask_user " + question("size") + "]",
		"tool c1 ask_user: Which colour? → this", "tool c2 ask_user: Which size? → that", "assistant thank you",
	}, second.History())
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
	safe := rig.NewGate("look")
	safe.Annotations.ReadOnly = true
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "look", `{}`))), runtime.Options{}, rig.Box(safe.Tool))
	first.Sends("1")
	<-safe.Reached
	for _, line := range []string{"and this", "and that"} {
		require.NoError(t, dialog.Steer(context.Background(), first.Conv, message.TextInput(line)))
	}
	first.Dies()

	close(safe.Open)
	second := rig.Boot(t, dir, rig.Plays(rig.Says("done")), runtime.Options{}, rig.Box(safe.Tool))
	second.Resumes()
	assert.Equal(t, "and this", second.Until(event.Steered, 1).Text)
	assert.Equal(t, "and that", second.Until(event.Steered, 1).Text)
	require.NoError(t, second.Ends().Returned)
	assert.Equal(t, []string{"user 1", "assistant [c1 look {}]", "tool c1 look: through", "user and this", "user and that", "assistant done"}, second.History())
}
