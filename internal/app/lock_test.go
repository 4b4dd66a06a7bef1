package app_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// gate is a hook that holds a turn at its beginning.
type gate struct {
	hook.Nop
	began, open chan struct{}
}

func (g *gate) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	close(g.began)
	<-g.open
	return in, nil
}

func conversation(t *testing.T, p app.Paths, extra ...hook.Hook) (*app.App, *runtime.Conversation) {
	t.Helper()
	opened, err := app.Open(t.Context(), app.Options{Paths: p, Extra: extra})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) })
	_, err = opened.Register(t.Context(), app.DefaultAgent, hook.AgentConfig{Model: message.Model{Name: "script:m.yaml"}})
	require.NoError(t, err)
	conv, err := dialog.Conversation(t.Context(), opened.Runtime, app.DefaultAgent, "ann")
	require.NoError(t, err)
	return opened, conv
}

// send runs a turn to its end. The error is why none began, or that of the turn.
func send(ctx context.Context, opened *app.App, conv *runtime.Conversation, text string, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
	turn, err := opened.Start(ctx, conv, message.TextInput(text), o)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	out := opened.Wait(ctx, turn)
	return out, out.Err
}

// TestATurnLocksTheConversation: of two programs over one state directory, the one
// that comes second is refused while the first one's turn runs, and loses nothing.
func TestATurnLocksTheConversation(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"m.yaml": "rules: [{when: always, say: Hello.}]\n"})
	g := &gate{began: make(chan struct{}), open: make(chan struct{})}
	first, held := conversation(t, p, g)
	second, conv := conversation(t, p)
	ended := make(chan error, 1)
	go func() {
		_, err := send(t.Context(), first, held, "one", nil)
		ended <- err
	}()
	<-g.began
	_, err := send(t.Context(), second, conv, "two", &runtime.TurnOptions{Observe: func(hook.Event) { assert.Fail(t, "an event") }})
	var busy *app.BusyError
	require.ErrorAs(t, err, &busy)
	assert.Equal(t, os.Getpid(), busy.Process)
	close(g.open)
	require.NoError(t, <-ended)

	out, err := send(t.Context(), second, conv, "two", nil)
	require.NoError(t, err)
	assert.Equal(t, "Hello.", out.Text())
	messages, err := second.Store.Messages(t.Context(), conv.ID())
	require.NoError(t, err)
	assert.Len(t, messages, 4)
}

// TestTheConversationsOfADeadProcessAreFree: nobody waits for the lease of a process
// that has ended, whether it left its file behind or not.
func TestTheConversationsOfADeadProcessAreFree(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"m.yaml": "rules: [{when: always, say: Hello.}]\n"})
	opened, conv := conversation(t, p)
	for _, owner := range []string{"grapnel-with-a-file", "grapnel-without-one"} {
		if owner == "grapnel-with-a-file" {
			require.NoError(t, os.WriteFile(filepath.Join(p.State, "locks", owner), []byte("1"), 0o600))
		}
		_, err := opened.Store.Claim(t.Context(), conv.ID(), store.Claim{Owner: owner, Hold: time.Hour})
		require.NoError(t, err)
		_, err = send(t.Context(), opened, conv, "one", nil)
		require.NoError(t, err)
	}
	files, err := filepath.Glob(filepath.Join(p.State, "locks", "*"))
	require.NoError(t, err)
	assert.Len(t, files, 1, "that of this process")

	_, err = opened.Store.Claim(t.Context(), conv.ID(), store.Claim{Owner: "another-program", Hold: time.Hour})
	require.NoError(t, err)
	_, err = send(t.Context(), opened, conv, "one", nil)
	var busy *app.BusyError
	require.ErrorAs(t, err, &busy, "of whom nothing is known is not taken for dead")
	assert.Zero(t, busy.Process)
}
