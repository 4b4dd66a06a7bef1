package postgres_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The page says how to restore a backup; this does it. Who still holds a lease of a later time
// than the backup's writes nothing.
func TestABackupIsRestoredAsThePageSays(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	page, err := os.ReadFile("../../../docs/scale/postgresql.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "```sql\n")
	require.True(t, found)
	fence, _, _ := strings.Cut(after, "```")

	bin, from, to := pgtest.Programs(t), migrated.Database(t), pgtest.Database(t)
	s := open(t, from, nil)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	held, err := s.Claim(t.Context(), rec.ID, store.Claim{Owner: "me", Hold: time.Hour})
	require.NoError(t, err)
	version, err := s.Append(t.Context(), rec.ID, store.Append{Epoch: held.Lease.Epoch, Hold: time.Hour, Messages: message.MessagesOf(message.UserText("kept"))})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "grapnel.dump")
	run := func(program string, args ...string) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run("pg_dump", "-Fc", "-f", file, from)
	held, err = s.Claim(t.Context(), rec.ID, store.Claim{Owner: "later", Hold: time.Hour, Takes: held.Lease.Epoch})
	require.NoError(t, err)
	run("pg_restore", "--no-owner", "-d", to, file)
	execute(t, to, fence)

	restored := open(t, to, nil)
	late := store.Append{Version: version, Epoch: held.Lease.Epoch, Messages: message.MessagesOf(message.UserText("late"))}
	taken, err := restored.Claim(t.Context(), rec.ID, store.Claim{Owner: "new", Hold: time.Hour})
	require.NoError(t, err, "no lease is left")
	_, err = restored.Append(t.Context(), rec.ID, late)
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = restored.Append(t.Context(), rec.ID, store.Append{Version: version, Epoch: taken.Lease.Epoch, Messages: message.MessagesOf(message.UserText("on"))})
	require.NoError(t, err)
	ms, err := restored.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Len(t, ms, 2)
}
