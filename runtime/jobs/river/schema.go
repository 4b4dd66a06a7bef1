package river

import (
	"context"
	_ "embed"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/grapnel-go/grapnel/internal/pgdb"
)

//go:embed schema.sql
var schema string

// migrating is the key of the lock under which the tables are made: "RIVR".
const migrating = 0x52495652

// migrate makes or upgrades River's tables and the trigger.
func migrate(ctx context.Context, db *pgdb.DB) error {
	m, err := rivermigrate.New(riverpgxv5.New(db.Pool()), &rivermigrate.Config{Schema: Schema})
	if err != nil {
		return err
	}
	locked := func(f func(tx pgdb.Tx) error) error {
		return db.Write(ctx, func(tx pgdb.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, migrating); err != nil {
				return err
			}
			return f(tx)
		})
	}
	err = locked(func(tx pgdb.Tx) error {
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
		if _, err := tx.Conn().PgConn().Exec(ctx, schema).ReadAll(); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, redeliver, kind, time.Duration(0).Nanoseconds())
		return err
	})
}

const (
	now = `(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint`
	// reap makes the deliveries available again that run on nodes which have died, if node $2, which
	// asks, is alive itself.
	reap = `UPDATE ` + Schema + `.river_job r SET state = 'available', scheduled_at = now()
		WHERE r.state = 'running' AND r.kind = $1 AND EXISTS (SELECT FROM node n WHERE n.id = $2 AND ` + alive + `)
			AND NOT EXISTS (SELECT FROM node n WHERE n.id = r.attempted_by[array_upper(r.attempted_by, 1)] AND ` + alive + `)`
	// alive is the store's: no other node has beaten without a gap for the TTL of node n since its last beat.
	alive = `n.ttl > 0 AND NOT EXISTS (SELECT FROM witness w WHERE w.seen >= n.seen + n.ttl AND w.seen >= w.since + n.ttl)`
	// redeliver delivers the jobs again that have been due, or whose lease has been over, for $2
	// nanoseconds, and that nothing delivers.
	redeliver = `INSERT INTO ` + Schema + `.river_job (kind, args, queue, max_attempts)
		SELECT $1, jsonb_build_object('job', j.num), 'p' || left(encode(sha256(j.project || '\x00'::bytea || j.kind), 'hex'), 32), 32767
		FROM job j WHERE j.status IN ('queued', 'running') AND j.due <= ` + now + ` - $2::bigint AND NOT EXISTS (
			SELECT FROM ` + Schema + `.river_job r WHERE r.kind = $1 AND r.state IN ('available', 'scheduled', 'retryable') AND r.args @> jsonb_build_object('job', j.num))
		ORDER BY j.due LIMIT 1000`
	// isAlive is whether node $1 is alive.
	isAlive = `SELECT EXISTS (SELECT FROM node n WHERE n.id = $1 AND ` + alive + `)`
)
