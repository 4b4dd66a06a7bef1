package river

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/grapnel-go/grapnel/internal/pgdb"
)

//go:embed schema.sql
var schema string

// migrating is the key of the lock under which the tables are made: "RIVR".
const migrating = 0x52495652

// version is that of River's tables and of the trigger. Raise it here and in schema.sql with each change of
// schema.sql, and with a version of River that has further steps.
const version = 1

// Migrate makes or upgrades River's tables and the trigger in the database of a store, unless they are there
// already: also those of a newer program. It uses two connections at the same time.
func Migrate(ctx context.Context, db *pgdb.DB) error {
	var has int
	err := db.Read(ctx, func(q pgdb.Queryer) (err error) {
		has, err = currentVersion(ctx, q)
		return err
	})
	if err == nil && has < version {
		err = upgrade(ctx, db)
	}
	if err != nil {
		return fmt.Errorf("river: make the tables of the job engine: %w", err)
	}
	return nil
}

func upgrade(ctx context.Context, db *pgdb.DB) error {
	if db.Pool().Config().MaxConns < 2 {
		return errors.New("that takes two connections, and pool_max_conns in the DSN allows one; set it to 2 or more")
	}
	m, err := rivermigrate.New(riverpgxv5.New(db.Pool()), &rivermigrate.Config{Schema: Schema})
	if err != nil {
		return err
	}
	locked := func(f func(tx pgdb.Tx) error) error {
		return db.Write(ctx, func(tx pgdb.Tx) error {
			if err := pgdb.Slow(ctx, tx); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, migrating); err != nil {
				return err
			}
			if has, err := currentVersion(ctx, tx); err != nil || has >= version {
				return err // another process was faster
			}
			return f(tx)
		})
	}
	err = locked(func(tx pgdb.Tx) error {
		if err := alone(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+Schema)
		return err
	})
	if err != nil {
		return err
	}
	return locked(func(tx pgdb.Tx) error {
		// On connections of its own: one step makes a value of a type, which a later one can use only after its commit.
		if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return err
		}
		_, err := tx.Conn().PgConn().Exec(ctx, schema).ReadAll()
		return err
	})
}

// alone returns an error if River's tables deliver for a store in another schema of the database: each would take the other's
// numbers for its own.
func alone(ctx context.Context, q pgdb.Queryer) error {
	var other string
	err := q.QueryRow(ctx, `SELECT coalesce(max(t.tgrelid::regclass::text), '') FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname = 'deliver' AND t.tgrelid <> 'job'::regclass`, Schema).Scan(&other)
	if err == nil && other != "" {
		err = fmt.Errorf("the schema %s of this database delivers the jobs of the table %s; daemons that share nothing with those need a database of their own", Schema, other)
	}
	return err
}

// currentVersion returns the version of the trigger on the store's jobs, 0 if there is none.
func currentVersion(ctx context.Context, q pgdb.Queryer) (has int, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce(max(obj_description(p.oid, 'pg_proc')::int), 0) FROM pg_proc p
		JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_trigger t ON t.tgfoid = p.oid
		WHERE n.nspname = $1 AND p.proname = 'deliver' AND t.tgrelid = 'job'::regclass`, Schema).Scan(&has)
	return has, err
}

// deliverQueued delivers what was queued while the trigger was not there.
func deliverQueued(ctx context.Context, db *pgdb.DB) error {
	for {
		var n int64
		err := db.Write(ctx, func(tx pgdb.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, reaping); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, redeliver, kind, nil, atOnce)
			n = tag.RowsAffected()
			return err
		})
		if err != nil || n < atOnce {
			return err
		}
	}
}

// atOnce is how many jobs are delivered again in one transaction.
const atOnce = 1000

const (
	now = `(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint`
	// reap makes the deliveries available again that run on nodes which have died, if node $2, which
	// asks, is alive itself. They keep their time, so that they come before what was queued later.
	reap = `UPDATE ` + Schema + `.river_job r SET state = 'available'
		WHERE r.state = 'running' AND r.kind = $1 AND EXISTS (SELECT FROM node n WHERE n.id = $2 AND ` + alive + `)
			AND NOT EXISTS (SELECT FROM node n WHERE n.id = r.attempted_by[array_upper(r.attempted_by, 1)] AND ` + alive + `)`
	// alive is the store's: no other node has beaten without a gap for the TTL of node n since its last beat.
	alive = `n.ttl > 0 AND NOT EXISTS (SELECT FROM witness w WHERE w.seen >= n.seen + n.ttl AND w.seen >= w.since + n.ttl)`
	// redeliver delivers the jobs again that have been due, or whose lease has been over, for $2
	// nanoseconds, and that nothing delivers, $3 of them at most. NULL is 0, and also those that wait until they are due.
	redeliver = `INSERT INTO ` + Schema + `.river_job (kind, args, queue, max_attempts, state, scheduled_at)
		SELECT $1, jsonb_build_object('job', j.num), 'p' || left(encode(sha256(j.project || '\x00'::bytea || j.kind), 'hex'), 32), 32767,
			CASE WHEN to_timestamp(j.due / 1e9) > clock_timestamp() + interval '5 seconds' THEN 'scheduled' ELSE 'available' END::` + Schema + `.river_job_state,
			to_timestamp(j.due / 1e9)
		FROM job j WHERE j.status IN ('queued', 'running') AND ($2::bigint IS NULL AND j.status = 'queued' OR j.due <= ` + now + ` - coalesce($2, 0)) AND NOT EXISTS (
			SELECT FROM ` + Schema + `.river_job r WHERE r.kind = $1 AND r.state IN ('available', 'scheduled', 'retryable') AND r.args @> jsonb_build_object('job', j.num))
		ORDER BY j.due LIMIT $3`
	// isAlive is whether node $1 is alive.
	isAlive = `SELECT EXISTS (SELECT FROM node n WHERE n.id = $1 AND ` + alive + `)`
)
