package river

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
)

// overdue is how long a job may be due, or its lease over, until it is delivered again although no
// node has died: River's completer gives up when the database is away for long.
const overdue = 15 * time.Second

// reap delivers again what others have left, every third of the TTL while the database sees this node
// alive.
func (e *engine) reap() {
	tick := time.NewTicker(e.o.TTL / 3)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(e.ctx, e.o.TTL)
		seen, err := e.seen(ctx)
		e.alive.Store(seen)
		if err == nil && seen && !e.o.Tenant {
			_ = e.redeliver(ctx) // the next round tries again
		}
		cancel()
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			return
		}
	}
}

// seen reports whether the database sees this node alive.
func (e *engine) seen(ctx context.Context) (seen bool, err error) {
	err = e.o.Store.DB().Read(ctx, func(q pgdb.Queryer) error { return q.QueryRow(ctx, isAlive, e.work.Owner()).Scan(&seen) })
	return seen, err
}

// redeliver delivers again what others have left.
func (e *engine) redeliver(ctx context.Context) error {
	return e.o.Store.DB().Write(ctx, func(tx pgdb.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, reaping).Scan(&mine); err != nil || !mine {
			return err // another node does it now
		}
		if _, err := tx.Exec(ctx, reap, kind, e.work.Owner()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, redeliver, kind, overdue.Nanoseconds(), atOnce)
		return err
	})
}

// reaping is the key of the lock of the reaper: "REAP".
const reaping = 0x52454150
