package daemon_test

import (
	"context"
	"database/sql"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
)

// TestReadyWhileTheDatabaseCanBeWritten: a daemon whose database another process keeps from it is alive and not ready.
func TestReadyWhileTheDatabaseCanBeWritten(t *testing.T) {
	t.Parallel()
	paths := project(t)
	c := serve(t, daemon.Options{App: app.Options{Paths: paths, Note: note}})
	until := func(want int, body string) {
		t.Helper()
		require.EventuallyWithT(t, func(t2 *assert.CollectT) {
			status, got := get(t, c, http.MethodGet, "/readyz", "")
			assert.Equal(t2, want, status)
			assert.Equal(t2, body, string(got))
		}, 30*time.Second, 50*time.Millisecond)
	}
	until(http.StatusOK, `{"status":"ok"}`+"\n")
	db, err := sql.Open("sqlite", paths.Conversations)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	until(http.StatusServiceUnavailable, `{"status":"store"}`+"\n")
	status, got := get(t, c, http.MethodGet, "/healthz", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, `{"status":"ok"}`+"\n", string(got))
	_, err = conn.ExecContext(context.Background(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	until(http.StatusOK, `{"status":"ok"}`+"\n")
	var left int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM reserved) + (SELECT count(*) FROM spent)").Scan(&left))
	assert.Zero(t, left, "to ask leaves nothing behind")
}
