package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

// TestTheStoreIsMovedToADatabaseAndBack runs a script over a real PostgreSQL.
func TestTheStoreIsMovedToADatabaseAndBack(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	dsn := pgtest.Database(t)
	testscript.Run(t, testscript.Params{
		Files: []string{filepath.Join("testdata", "postgres", "store.txtar")},
		Setup: func(env *testscript.Env) error {
			env.Setenv("GRAPNEL_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("DSN", dsn)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"sql": func(ts *testscript.TestScript, _ bool, args []string) {
				conn, err := pgx.Connect(context.Background(), dsn)
				ts.Check(err)
				defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
				_, err = conn.Exec(context.Background(), args[0])
				ts.Check(err)
			},
		},
		RequireExplicitExec: true,
	})
}
