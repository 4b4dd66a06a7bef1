package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// TestTwoVersionsRunSideBySide: a newer program runs a step that adds a column to every table and a table,
// and this one goes on with its statements, those that are prepared and new ones.
func TestTwoVersionsRunSideBySide(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	running := open(t, dsn, nil)
	fillFrom(t, running, "before")

	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), fmt.Sprintf(`BEGIN;
		DO $$ DECLARE name text;
		BEGIN
			FOR name IN SELECT quote_ident(relname) FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
				AND relnamespace = 'public'::regnamespace LOOP
				EXECUTE 'ALTER TABLE ' || name || ' ADD COLUMN new_in_this_step text NOT NULL DEFAULT ''''';
			END LOOP;
		END $$;
		CREATE TABLE new_in_this_step (a int);
		INSERT INTO grapnel_schema (version, made) VALUES (%d, now());
		COMMIT`, pgdb.Version()+1))
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	started := open(t, dsn, nil)
	for name, s := range map[string]store.Store{"running": running, "started": started} {
		fillFrom(t, s, name)
	}
	all, err := started.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 3)
	empty := open(t, migrated.Database(t), nil)
	require.NoError(t, empty.Load(t.Context(), started.Rows), "and it can be copied")
	assert.Equal(t, digests(t, started), digests(t, empty))
}

// fillFrom runs two turns of a conversation of the sender and reads them.
func fillFrom(t *testing.T, s store.Store, sender string) {
	t.Helper()
	rec, err := s.Conversation(t.Context(), store.Key{Project: "/p", Agent: "a", Sender: sender})
	require.NoError(t, err)
	held, err := s.Claim(t.Context(), rec.ID, store.Claim{Owner: "me", Hold: time.Hour})
	require.NoError(t, err)
	version := held.Version
	for range 2 {
		_, err = s.Note(t.Context(), rec.ID, store.Note{Epoch: held.Lease.Epoch, Hold: time.Hour,
			Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"id":"t"}`}}, Events: []store.Event{{Seq: uint64(version + 1), Data: `{}`}}})
		require.NoError(t, err)
		version, err = s.Append(t.Context(), rec.ID, store.Append{Version: version, Epoch: held.Lease.Epoch, Hold: time.Hour,
			Messages: message.MessagesOf(message.UserText("hello")), TurnEnds: true})
		require.NoError(t, err)
	}
	got, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Len(t, got, 2)
}
