package daemon_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/daemon"
)

// TestDamagedDatabase: pages that cannot be read are told of with the file and what
// to do.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"m.yaml": "rules: [{when: always, say: Hello.}]\n"})
	turn := func() error {
		app, err := daemon.Open(t.Context(), daemon.Options{Paths: p})
		if err != nil {
			return err
		}
		defer func() { assert.NoError(t, app.Close(context.WithoutCancel(t.Context()))) }()
		_, err = app.Register(t.Context(), daemon.DefaultAgent, hook.AgentConfig{Model: "script:m.yaml"})
		require.NoError(t, err)
		conv, err := app.Conversation(t.Context(), daemon.DefaultAgent, "ann")
		if err == nil {
			_, err = app.Send(t.Context(), conv, hook.TextInput("hi"), nil)
		}
		return err
	}
	require.NoError(t, turn())
	for _, file := range []string{p.Conversations, p.Memories} {
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		// The first page is the schema; the others are what is in it.
		broken := append(bytes.Clone(whole[:4096]), bytes.Repeat([]byte{0xff}, len(whole)-4096)...)
		require.NoError(t, os.WriteFile(file, broken, 0o600))
		if err = turn(); file == p.Conversations || err != nil {
			assert.ErrorContains(t, err, "the database "+file+" is damaged: to go on with a backup, put it in the place of "+file+" and")
		}
		require.NoError(t, os.WriteFile(file, whole, 0o600))
	}
	require.NoError(t, turn())
}
