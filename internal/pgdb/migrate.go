package pgdb

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"
)

// ErrNewer: a newer program has upgraded the schema, and this one cannot use it any more.
var ErrNewer = errors.New("the database has a newer schema")

// ErrForeign: the schema is not of this program.
var ErrForeign = errors.New("not a database of this kind")

//go:embed schema/*.sql
var schema embed.FS

// migrating is the key of the lock under which the schema is upgraded: "GRAP".
const migrating = 0x47524150

// Version is the version of the schema that this program makes: the number of its last step.
func Version() int {
	entries, err := schema.ReadDir("schema")
	if err != nil {
		panic("pgdb: the schema is embedded: " + err.Error())
	}
	return len(entries)
}

// migrate runs the steps that the database lacks, in one transaction. Released steps are never
// changed.
//
// A step only adds: tables, and columns with defaults. So programs that do not know it go on, and begin.
// One that has to change what they use says so by raising the default of grapnel_schema.needs to its own
// number, in its script: from then on ErrNewer keeps programs out that do not know it. Those that run
// have to be stopped first, and its release says so.
func (d *DB) migrate(ctx context.Context) error {
	version, err := d.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if version >= Version() {
		return nil
	}
	return d.Write(ctx, func(tx Tx) error {
		if err := Slow(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, migrating); err != nil {
			return err
		}
		version, err := currentVersion(ctx, tx)
		if err != nil {
			return err
		}
		for step := version + 1; step <= Version(); step++ {
			if err := run(ctx, tx, step); err != nil {
				return fmt.Errorf("schema step %d: %w", step, err)
			}
		}
		return nil
	})
}

// SchemaVersion returns the version of the database's schema, 0 for an empty database. It may be higher
// than Version. ErrNewer if this program cannot use it.
func (d *DB) SchemaVersion(ctx context.Context) (version int, err error) {
	err = d.Read(ctx, func(q Queryer) error {
		version, err = currentVersion(ctx, q)
		return err
	})
	return version, err
}

func currentVersion(ctx context.Context, q Queryer) (version int, err error) {
	var versions, conversations bool
	// Not to_regclass: it may remember from before the wait for a lock that there was no such table.
	err = q.QueryRow(ctx, `SELECT coalesce(bool_or(relname = 'grapnel_schema'), false), coalesce(bool_or(relname = 'conversation'), false)
		FROM pg_class WHERE relname IN ('grapnel_schema', 'conversation') AND pg_table_is_visible(oid)`).Scan(&versions, &conversations)
	switch {
	case err != nil:
		return 0, err
	case !versions && conversations:
		return 0, fmt.Errorf("%w: it has a table conversation, which this program did not make; name another database, or a schema with search_path", ErrForeign)
	case !versions:
		return 0, nil
	}
	var needs int
	err = q.QueryRow(ctx, `SELECT version, needs FROM grapnel_schema ORDER BY version DESC LIMIT 1`).Scan(&version, &needs)
	if err != nil && !errors.Is(err, ErrNoRows) {
		return 0, err
	}
	if needs > Version() {
		return version, fmt.Errorf("%w: version %d, for programs that know version %d, and this one knows %d; use the newer program, or name another database", ErrNewer, version, needs, Version())
	}
	return version, nil
}

// run runs the statements of one step, and notes it.
func run(ctx context.Context, tx Tx, step int) error {
	script, err := schema.ReadFile(fmt.Sprintf("schema/%d.sql", step))
	if err != nil {
		return err
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, string(script)).ReadAll(); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO grapnel_schema (version, made) VALUES ($1, $2)`, step, time.Now())
	return err
}
