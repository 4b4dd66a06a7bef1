package daemon_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
)

// TestADaemonEndsThoughAToolHangs: a tool that ignores its context keeps the daemon for the grace period and the bound of the runtime,
// and not longer. Meanwhile clients over TCP are told that it ends, and get no new turn.
func TestADaemonEndsThoughAToolHangs(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	paths := project(t)
	script := "rules:\n- when: {user: {contains: Hang}, step: 1}\n  calls: [{tool: hang, args: {}}]\n- {when: always, say: Hi.}\n"
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte(script), 0o600))
	token, err := access.OpenTokens(filepath.Join(paths.State, "tokens.json")).Create(access.Token{Name: "phone", Scopes: access.All()})
	require.NoError(t, err)
	hangs, release := make(chan struct{}), make(chan struct{})
	var left sync.WaitGroup
	left.Add(1)
	hang := tool.New("hang", "Hangs.", func(context.Context, struct{}) (string, error) {
		defer left.Done()
		close(hangs)
		<-release // not even the end of its context ends it
		return "", nil
	}, nil)
	const grace = 10 * time.Second
	at := socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, Grace: grace, Listen: daemon.Listen{Address: "127.0.0.1:0"}, App: app.Options{
		Paths: paths, Note: note, Extra: []hook.Hook{tool.Set(hang)}, Set: allowed(t),
	}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	phone := client.New(d.URLs()[0], &client.Options{Token: token, Retries: -1})
	conv, err := phone.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	other, err := phone.Conversation(t.Context(), "helper", "bob")
	require.NoError(t, err)
	turn, err := phone.Send(t.Context(), conv.ID, "Hang, please.")
	require.NoError(t, err)
	var watching sync.WaitGroup
	closed := make(chan error, 1)
	watching.Go(func() {
		for _, err := range phone.Events(t.Context(), conv.ID, turn.LastEventID) {
			if err != nil {
				closed <- err
			}
		}
	})
	<-hangs

	begun := time.Now()
	stop()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		health, err := phone.Health(context.Background())
		if assert.NoError(t, err) {
			assert.Equal(t, wire.StatusClosing, health.Status)
		}
	}, time.Minute, time.Millisecond)
	resp, err := http.Get(d.URLs()[0] + "/readyz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	_, err = phone.Send(t.Context(), other.ID, "Hello?")
	assert.Equal(t, wire.CodeUnavailable, client.CodeOf(err))

	err = <-ended
	took := time.Since(begun)
	t.Logf("it took %v", took)
	require.ErrorIs(t, err, runtime.ErrAbandoned)
	assert.ErrorContains(t, err, "hang")
	assert.GreaterOrEqual(t, took, grace)
	watching.Wait()
	assert.ErrorIs(t, <-closed, client.ErrClosed)
	_, err = phone.Health(t.Context())
	require.ErrorIs(t, err, client.ErrNotRunning)
	assert.NoFileExists(t, at)

	close(release)
	left.Wait()
	d, err = daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Note: note, Extra: []hook.Hook{tool.Set(hang)}, Set: allowed(t)}})
	require.NoError(t, err, "the next one opens what it has left")
	ctx, stop = context.WithCancel(context.Background())
	go func() { ended <- d.Run(ctx) }()
	again := client.New(at, nil)
	messages, err := again.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	assert.NotEmpty(t, messages)
	stop()
	require.NoError(t, <-ended)
}

// allowed are settings by which tools run without a question.
func allowed(t *testing.T) (s app.Settings) {
	t.Helper()
	for _, off := range []string{"Policy=off", "Secure=off"} {
		require.NoError(t, s.Set(off))
	}
	return s
}
