package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
	"github.com/grapnel-go/grapnel/runtime/store/storetest"
)

var _ redact.Full = (*postgres.Store)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// migrated is a database with the schema.
var migrated = pgtest.Template{Prepare: func(ctx context.Context, dsn string) error {
	s, err := postgres.Open(ctx, dsn, nil)
	if err != nil {
		return err
	}
	return s.Close()
}, Reset: `DO $$ DECLARE t regclass; BEGIN
	FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'grapnel_schema' LOOP
		EXECUTE 'DELETE FROM ' || t;
	END LOOP;
END $$`}

func open(t *testing.T, dsn string, o *postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Subject {
		dsn, o := migrated.Database(t), &postgres.Options{Now: now, Database: pgdb.Options{Connections: 4}}
		s := open(t, dsn, o)
		return storetest.Subject{Store: s, Reopen: func() store.Store {
			require.NoError(t, s.Close())
			return open(t, dsn, o)
		}}
	})
}
