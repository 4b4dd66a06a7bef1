package app_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// TestDamagedDatabase: the error of unreadable pages names the file and what to
// do.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"m.yaml": "rules: [{when: always, say: Hello.}]\n"})
	turn := func() error {
		opened, err := app.Open(t.Context(), app.Options{Paths: p})
		if err != nil {
			return err
		}
		defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
		_, err = opened.Register(t.Context(), app.DefaultAgent, hook.AgentConfig{Model: message.Model{Name: "script:m.yaml"}})
		require.NoError(t, err)
		conv, err := opened.Conversation(t.Context(), app.DefaultAgent, "ann")
		if err == nil {
			_, err = send(t.Context(), opened, conv, "hi", nil)
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
			assert.ErrorContains(t, err, "to go on with a backup, put it in the place of "+file+" and delete ")
		}
		require.NoError(t, os.WriteFile(file, whole, 0o600))
	}
	require.NoError(t, turn())
}

// TestADamagedIndexKeepsNobodyFromStarting, and is noted.
func TestADamagedIndexKeepsNobodyFromStarting(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	var notes []string
	start := func() error {
		opened, err := app.Open(t.Context(), app.Options{Paths: p, Note: func(text string) { notes = append(notes, text) }})
		if err != nil {
			return err
		}
		return opened.Close(context.WithoutCancel(t.Context()))
	}
	require.NoError(t, start())
	for file, about := range map[string]sqlitedb.Schema{
		p.Conversations: {ID: 0x47524163, Steps: make([]string, 8)},
		p.Memories:      {ID: 0x4752416d, Steps: make([]string, 5)},
	} {
		db, err := sqlitedb.Open(t.Context(), file, about)
		require.NoError(t, err)
		require.NoError(t, db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
			_, err := tx.Exec(`DROP TABLE word_config`)
			return err
		}))
		require.NoError(t, db.Close())
	}
	require.NoError(t, start())
	require.Len(t, notes, 2)
	assert.Contains(t, notes[0], p.Conversations+": the search index was damaged")
	assert.Contains(t, notes[1], p.Memories+": the search index was damaged")
	for _, file := range []string{p.Conversations, p.Memories} {
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(file, 0))
		assert.ErrorContains(t, start(), file+": its data is gone: the file is empty and was not; nothing was changed")
		require.NoError(t, os.WriteFile(file, whole, 0o600))
	}
	require.NoError(t, start())
	assert.Len(t, notes, 2)
}
