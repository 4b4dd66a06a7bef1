package api_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
)

// BeforeCompaction implements hook.BeforeCompaction: the conversation with "keeper"
// stays as it is.
func (*box) BeforeCompaction(_ context.Context, c *hook.Conversation, _ hook.Compaction) (hook.CompactionDecision, error) {
	if c.Sender() == "keeper" {
		return hook.SkipCompaction("every word counts"), nil
	}
	return hook.CompactionDecision{}, nil
}

// branches makes, moves and searches conversations of one that has two turns.
func (w *world) branches(sender string) {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	conv := w.conversation(sender)
	w.turn(conv.ID, "a red boat")
	w.turn(conv.ID, "a blue boat")

	none, err := w.client.Tasks(ctx, conv.ID)
	require.NoError(t, err)
	assert.Equal(t, wire.Tasks{Todos: []wire.Task{}}, none)

	fork, err := w.client.Fork(ctx, conv.ID, wire.NewFork{Turns: 1, Sender: sender + "-fork"})
	require.NoError(t, err)
	assert.Equal(t, 1, fork.Turns)
	assert.Equal(t, sender+"-fork", fork.Sender)
	w.turn(fork.ID, "a green boat")
	fork, err = w.client.Rewind(ctx, fork.ID, wire.Rewind{Turns: 1, Of: 2})
	require.NoError(t, err)
	assert.Equal(t, 1, fork.Turns)
	messages, err := w.client.Messages(ctx, fork.ID)
	require.NoError(t, err)
	require.Len(t, messages, 2)
	assert.Equal(t, "a red boat", messages[0].Text())

	found, err := w.client.Search(ctx, client.Query{Text: "blue", Sender: sender, Limit: 1})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, conv.ID, found[0].Conversation)
	assert.Contains(t, found[0].Snippet, "blue")

	var file bytes.Buffer
	require.NoError(t, w.client.Export(ctx, conv.ID, &file))
	made, err := w.client.Import(ctx, bytes.NewReader(file.Bytes()), "", sender+"-copy")
	require.NoError(t, err)
	assert.Equal(t, []any{"helper", sender + "-copy", 2}, []any{made.Agent, made.Sender, made.Turns})
	copied, err := w.client.Messages(ctx, made.ID)
	require.NoError(t, err)
	original, err := w.client.Messages(ctx, conv.ID)
	require.NoError(t, err)
	assert.Equal(t, original, copied)

	done, err := w.client.Compact(ctx, conv.ID, wire.NewCompaction{Keep: 1, Focus: "colours"})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 2}, []int{done.Archived, done.Kept})
	assert.NotEmpty(t, done.Summary)
	assert.Equal(t, hook.Cost(done.Usage.Total()), done.Cost)
	assert.Positive(t, done.Cost)
}

func TestBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.branches("ann")
	ctx := t.Context()
	conv, gone := w.conversation("bob"), w.conversation("ann-fork")
	w.turn(conv.ID, "hello")
	var file bytes.Buffer
	require.NoError(t, w.client.Export(ctx, conv.ID, &file))
	fork := func(f wire.NewFork) error { _, err := w.client.Fork(ctx, conv.ID, f); return err }
	_, err := w.client.Rewind(ctx, conv.ID, wire.Rewind{Of: 2})
	assert.Equal(t, wire.CodeIdle, client.CodeOf(err))
	assert.ErrorContains(t, err, "is 1 by now, and not 2")
	rewind := func(id string, turns int) error {
		_, err := w.client.Rewind(ctx, id, wire.Rewind{Turns: turns})
		return err
	}
	restore := func(text string) error {
		_, err := w.client.Import(ctx, strings.NewReader(text), "", "")
		return err
	}
	search := func(q client.Query) error { _, err := w.client.Search(ctx, q); return err }
	_, compacted := w.client.Compact(ctx, conv.ID, wire.NewCompaction{})
	keeper := w.conversation("keeper")
	w.turn(keeper.ID, "one")
	w.turn(keeper.ID, "two")
	_, skipped := w.client.Compact(ctx, keeper.ID, wire.NewCompaction{Keep: 1})
	for _, tc := range []struct {
		name string
		err  error
		code wire.Code
		want string
	}{
		{"turns that are not there", fork(wire.NewFork{Turns: 7, Sender: "x"}), wire.CodeInvalid, "the conversation is not that long"},
		{"negative turns", fork(wire.NewFork{Turns: -1}), wire.CodeInvalid, "turns is -1"},
		{"a sender that is taken", fork(wire.NewFork{Turns: 1, Sender: "ann"}), wire.CodeExists, "such a conversation already"},
		{"too far back", rewind(conv.ID, 2), wire.CodeInvalid, "the conversation is not that long"},
		{"before the beginning", rewind(conv.ID, -1), wire.CodeInvalid, "turns is -1"},
		{"nothing to rewind", rewind("nothing", 0), wire.CodeNotFound, "there is no conversation"},
		{"nothing to compact", compacted, wire.CodeIdle, "nothing to compact"},
		{"a hook does not want it", skipped, wire.CodeSkipped, "a hook has skipped the compaction: Box: every word counts"},
		{"taken", restore(file.String()), wire.CodeExists, `the agent "helper" already has a conversation with "bob"; name another sender`},
		{"no conversation", restore("{}\n"), wire.CodeInvalid, "the conversation cannot be read: line 1:"},
		{"cut off", restore(file.String()[:file.Len()-4]), wire.CodeInvalid, "the last 1 messages are missing"},
		{"no words", search(client.Query{Text: " "}), wire.CodeInvalid, "q is empty"},
	} {
		assert.Equal(t, tc.code, client.CodeOf(tc.err), "%s: %v", tc.name, tc.err)
		assert.ErrorContains(t, tc.err, tc.want, tc.name)
	}
	assert.NoError(t, fork(wire.NewFork{Turns: 1}), "without a sender it is a new one")

	turn, err := w.client.Send(ctx, gone.ID, "call hold {}")
	require.NoError(t, err)
	<-w.box.held
	assert.Equal(t, wire.CodeBusy, client.CodeOf(rewind(gone.ID, 0)))
	w.box.release <- struct{}{}
	w.follow(turn, nil)
	require.NoError(t, w.client.DeleteAgent(ctx, "helper"))
	assert.Equal(t, wire.CodeAgentGone, client.CodeOf(rewind(gone.ID, 0)))
	assert.NoError(t, w.client.Export(ctx, gone.ID, &file), "an export needs no agent")
}
