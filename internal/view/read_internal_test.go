package view

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// watcher is an observer of a step, with a value that no view knows.
type watcher interface {
	OnWatch(step *hook.Step, usage message.Usage)
}

type watches struct {
	hook.Nop
	step  *hook.Step
	usage message.Usage
}

func (w *watches) OnWatch(step *hook.Step, usage message.Usage) { w.step, w.usage = step, usage }

// A new observer needs no line in this package.
func TestAStepAndAnyValueAreReadBackAsTheyWere(t *testing.T) {
	c := hook.NewConversation(hook.ConversationData{ID: "c"})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: c, ID: "t", Number: 2})
	j := Of(hook.NewStep(turn, 3, "m"), message.Usage{Input: 7})
	assert.Empty(t, j.Key, "a step has no id")

	r := Reader{Agent: func(string) *hook.AgentConfig { return nil }, History: func(string) (m message.Messages) { return m }}
	tell := func(ctx context.Context, h watcher, step *hook.Step, usage message.Usage) { h.OnWatch(step, usage) }
	read, err := reads(r, point.AfterStep, j.Payload, tell)
	require.NoError(t, err)
	var w watches
	require.True(t, read(t.Context(), &w))
	assert.Equal(t, []any{"t", 2, 3, "m", message.Usage{Input: 7}}, []any{w.step.Turn().ID(), w.step.Turn().Number(), w.step.Number(), w.step.Model(), w.usage})

	_, err = reads(r, point.AfterStep, "{}", tell)
	assert.ErrorContains(t, err, "the stored arguments of AfterStep cannot be read")
	assert.Empty(t, Of(turn, func() time.Time { return time.Time{} }).Payload, "what cannot be written has no payload")
}
