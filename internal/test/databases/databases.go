// Package databases gives tests a database of each kind that subsystems share their statements
// between. It is for tests only.
package databases

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

var migrated = pgtest.Template{Prepare: func(ctx context.Context, dsn string) error {
	db, err := pgdb.Open(ctx, dsn, nil)
	if err == nil {
		db.Close()
	}
	return err
}}

// Postgres returns a new database with the schema of this program. The end of the test closes and
// drops it. Without PostgreSQL the test is skipped.
func Postgres(t testing.TB) *pgdb.DB {
	t.Helper()
	return Open(t, DSN(t))
}

// DSN is Postgres for a test that opens the database itself, or several times. Tests of one process use a
// database one after the other: to empty one takes a tenth of the time of making one.
func DSN(t testing.TB) string {
	t.Helper()
	if os.Getenv(pgtest.Variable) != "" {
		return migrated.Database(t) // that server goes on, so the databases have to be dropped
	}
	dsn, ok := unused.take()
	if !ok {
		dsn = migrated.Database(lasting{t})
	}
	t.Cleanup(func() {
		if !t.Failed() && empty(dsn) == nil {
			unused.put(dsn)
		}
	})
	return dsn
}

// lasting is a test that ends with the process, and the cluster with it.
type lasting struct{ testing.TB }

func (lasting) Cleanup(func()) {}

var unused pool

// pool has the databases that no test uses.
type pool struct {
	mu   sync.Mutex
	dsns []string
}

func (p *pool) take() (dsn string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.dsns); n > 0 {
		dsn, p.dsns = p.dsns[n-1], p.dsns[:n-1]
		return dsn, true
	}
	return "", false
}

func (p *pool) put(dsn string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dsns = append(p.dsns, dsn)
}

// empty empties the tables of the database that have rows.
func empty(dsn string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := pgdb.Open(ctx, dsn, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Write(ctx, func(tx pgdb.Tx) error {
		_, err := tx.Exec(ctx, `DO $$
		DECLARE name text; used boolean;
		BEGIN
			FOR name IN SELECT quote_ident(relname) FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
				AND relnamespace = 'public'::regnamespace AND relname <> 'grapnel_schema'
			LOOP
				EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO used;
				IF used THEN
					EXECUTE 'TRUNCATE ' || name || ' RESTART IDENTITY CASCADE';
				END IF;
			END LOOP;
		END $$`)
		return err
	})
}

// Open opens the database as one process. The end of the test closes it.
func Open(t testing.TB, dsn string) *pgdb.DB {
	t.Helper()
	db, err := pgdb.Open(context.WithoutCancel(t.Context()), dsn, nil)
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	t.Cleanup(db.Close)
	return db
}

// Texts returns all that the tables of the database have, as text, so that a test can say what is
// nowhere.
func Texts(t testing.TB, dsn string) string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var out strings.Builder
	err := Open(t, dsn).Write(ctx, func(tx pgdb.Tx) error {
		out.Reset()
		if _, err := tx.Exec(ctx, "SET LOCAL bytea_output = 'escape'"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT quote_ident(relname) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND NOT relispartition`)
		if err != nil {
			return err
		}
		var tables []string
		for rows.Next() {
			var table string
			if err := rows.Scan(&table); err != nil {
				return err
			}
			tables = append(tables, table)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for _, table := range tables {
			var text string
			if err := tx.QueryRow(ctx, `SELECT coalesce(string_agg(t::text, E'\n'), '') FROM `+table+` t`).Scan(&text); err != nil {
				return err
			}
			out.WriteString(text + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read all tables: %v", err)
	}
	return out.String()
}
