package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/snapshot"
	"github.com/grapnel-go/grapnel/internal/undo"
)

func TestUndo(t *testing.T) {
	t.Parallel()
	var asked []undo.Request
	w := newWorld(t, &worldOptions{api: api.Options{Undo: func(_ context.Context, _ string, r undo.Request) (undo.Outcome, error) {
		asked = append(asked, r)
		switch r.Turns {
		case 7:
			return undo.Outcome{}, fmt.Errorf("%w: only 6", undo.ErrNothing)
		case 8:
			return undo.Outcome{}, fmt.Errorf("turn 8 %w: it is gone", undo.ErrKept)
		case 9:
			return undo.Outcome{}, undo.ErrRunning
		case 10:
			return undo.Outcome{}, errors.New("the disk is full")
		case 11:
			return undo.Outcome{}, undo.ErrMoved
		}
		return undo.Outcome{Turns: []undo.Turn{{ID: "t", Number: 3}}, Unended: true, Result: snapshot.Result{
			Restored: []string{"a\nb"}, Removed: []string{"c"}, Conflicts: []snapshot.Conflict{{Path: "d", Why: "it changed"}},
			Lost: []snapshot.LeftOut{{Path: "e", Bytes: 9, Why: "it is large"}},
		}}, nil
	}}})
	ctx := t.Context()
	conv := w.conversation("ann")
	out, err := w.client.Undo(ctx, conv.ID, wire.NewUndo{Turns: 2, DryRun: true})
	require.NoError(t, err)
	assert.Equal(t, wire.Undone{
		Turns: []wire.UndoneTurn{{ID: "t", Number: 3}}, Restored: []string{`"a\nb"`}, Removed: []string{"c"},
		Conflicts: []wire.NotUndone{{Path: "d", Why: "it changed"}}, Lost: []wire.NotUndone{{Path: "e", Why: "it is large"}}, Unended: true,
	}, out)
	_, err = w.client.Undo(ctx, conv.ID, wire.NewUndo{Latest: "t"})
	require.NoError(t, err)
	assert.Equal(t, []undo.Request{{Turns: 2, Dry: true}, {Latest: "t"}}, asked)
	try := func(u wire.NewUndo) error { _, err := w.client.Undo(ctx, conv.ID, u); return err }
	for _, tc := range []struct {
		err  error
		code wire.Code
		want string
	}{
		{try(wire.NewUndo{Turns: -1}), wire.CodeInvalid, "turns is -1"},
		{try(wire.NewUndo{Turns: 1, Redo: true}), wire.CodeInvalid, "leave it out with redo"},
		{try(wire.NewUndo{Turns: 7}), wire.CodeIdle, "nothing to undo: only 6"},
		{try(wire.NewUndo{Turns: 8}), wire.CodeIdle, "turn 8 cannot be undone"},
		{try(wire.NewUndo{Turns: 9}), wire.CodeBusy, "is running"},
		{try(wire.NewUndo{Turns: 11}), wire.CodeIdle, "another turn is the latest one"},
		{try(wire.NewUndo{Turns: 10}), wire.CodeInternal, "the disk is full"},
	} {
		assert.Equal(t, tc.code, client.CodeOf(tc.err), "%v", tc.err)
		assert.ErrorContains(t, tc.err, tc.want)
	}
	_, err = w.client.Undo(ctx, "nothing", wire.NewUndo{})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))

	turn, err := w.client.Send(ctx, conv.ID, "call hold {}")
	require.NoError(t, err)
	<-w.box.held
	assert.Equal(t, wire.CodeBusy, client.CodeOf(try(wire.NewUndo{})))
	w.box.release <- struct{}{}
	w.follow(turn, nil)

	none := newWorld(t, nil)
	_, err = none.client.Undo(ctx, none.conversation("ann").ID, wire.NewUndo{})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
}
