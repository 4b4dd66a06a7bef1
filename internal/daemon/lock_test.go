package daemon_test

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
	"github.com/grapnel-go/grapnel/internal/daemon"
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

func conversation(t *testing.T, p daemon.Paths, extra ...hook.Hook) (*daemon.App, *runtime.Conversation) {
	t.Helper()
	app, err := daemon.Open(t.Context(), daemon.Options{Paths: p, Extra: extra})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, app.Close(context.WithoutCancel(t.Context()))) })
	_, err = app.Register(t.Context(), daemon.DefaultAgent, hook.AgentConfig{Model: hook.ModelSettings{Name: "script:m.yaml"}})
	require.NoError(t, err)
	conv, err := dialog.Conversation(t.Context(), app.Runtime, daemon.DefaultAgent, "ann")
	require.NoError(t, err)
	return app, conv
}

// send runs a turn to its end. The error is why none began, or that of the turn.
func send(ctx context.Context, app *daemon.App, conv *runtime.Conversation, text string, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
	turn, err := app.Start(ctx, conv, message.TextInput(text), o)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	out := app.Wait(ctx, turn)
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
	var busy *daemon.BusyError
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
	app, conv := conversation(t, p)
	for _, owner := range []string{"grapnel-with-a-file", "grapnel-without-one"} {
		if owner == "grapnel-with-a-file" {
			require.NoError(t, os.WriteFile(filepath.Join(p.State, "locks", owner), []byte("1"), 0o600))
		}
		_, err := app.Store.Claim(t.Context(), conv.ID(), store.Claim{Owner: owner, Hold: time.Hour})
		require.NoError(t, err)
		_, err = send(t.Context(), app, conv, "one", nil)
		require.NoError(t, err)
	}
	files, err := filepath.Glob(filepath.Join(p.State, "locks", "*"))
	require.NoError(t, err)
	assert.Len(t, files, 1, "that of this process")

	_, err = app.Store.Claim(t.Context(), conv.ID(), store.Claim{Owner: "another-program", Hold: time.Hour})
	require.NoError(t, err)
	_, err = send(t.Context(), app, conv, "one", nil)
	var busy *daemon.BusyError
	require.ErrorAs(t, err, &busy, "of whom nothing is known is not taken for dead")
	assert.Zero(t, busy.Process)
}
