package river

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
)

// overdue is how long a job may be due, or its lease over, until it is delivered again although no
// node has died: River's completer gives up when the database is away for long.
const overdue = 15 * time.Second

// reap delivers again what others have left, every third of the TTL. It begins when this node was
// seen alive for a TTL without a failure between: after a failover to another server the beats of
// all others seem old, until they come there.
func (e *engine) reap() {
	tick := time.NewTicker(e.o.TTL / 3)
	defer tick.Stop()
	var since time.Time // since when this node was seen alive; zero if it was not
	for {
		began := time.Now()
		ctx, cancel := context.WithTimeout(e.ctx, e.o.TTL)
		seen, err := e.seen(ctx)
		e.alive.Store(seen)
		switch {
		case err != nil || !seen:
			since = time.Time{}
		case e.o.Tenant:
		case since.IsZero():
			since = began
		case began.Sub(since) >= e.o.TTL:
			if err := e.redeliver(ctx); err != nil {
				since = time.Time{}
			}
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
