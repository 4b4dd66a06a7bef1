package pgdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// committers is how many transactions of Apply are under way: one is filled while the other
	// waits for the disk.
	committers = 2
	// together is how many writes share a transaction at most.
	together = 64
	// lockWithin is how long a transaction of several writes waits for a lock, which another
	// transaction may hold for long. Then the writes no longer wait for each other.
	lockWithin = 500 * time.Millisecond
)

// Statement is one statement that writes.
type Statement struct {
	// Order is what the statement locks, such as the id of a conversation. Those of a transaction
	// run in this order, so that two transactions do not wait for each other.
	Order string
	SQL   string
	Args  []any
	// Once: it must not be repeated if its answer is lost. Any other statement finds out by itself
	// that it has run already, and then changes nothing.
	Once bool
}

// Apply runs the statement and returns its rows, each read by scan, once they are committed. The
// statements of concurrent calls share a transaction, its round trip and its sync; one that fails
// takes no other with it. Apply repeats the statement after a conflict or a lost connection, so
// scan may be called again.
//
// If ctx ends while the statement is under way, Apply returns, and whether it was committed is
// unknown.
func Apply[T any](ctx context.Context, d *DB, s Statement, scan func(row Row) (T, error)) ([]T, error) {
	var out []T
	var err error
	if s.SQL, s.Args, err = d.bound(s.SQL, s.Args); err != nil {
		return nil, err
	}
	w := &write{Statement: s, ctx: ctx, deadline: time.Now().Add(d.patience), done: make(chan error, 1)}
	w.read = func(rows Rows) error {
		out = nil
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return rows.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case d.queue <- w:
	case <-d.closing:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case err := <-w.done:
		if err != nil {
			return nil, discreet(err)
		}
		return out, nil // the committer is done with it
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// write is a statement that waits for its commit.
type write struct {
	Statement
	ctx      context.Context //nolint:containedctx // of the caller that waits
	deadline time.Time
	read     func(rows Rows) error
	done     chan error
}

// commitAll commits what is queued, until the DB closes and nobody waits any more.
func (d *DB) commitAll() {
	for {
		select {
		case w := <-d.queue:
			d.commit(d.gather(w))
		case <-d.closing:
			select {
			case w := <-d.queue:
				d.commit(d.gather(w))
			default:
				return
			}
		}
	}
}

// gather returns the write with those that wait now.
func (d *DB) gather(first *write) []*write {
	all := []*write{first}
	for len(all) < together {
		select {
		case w := <-d.queue:
			all = append(all, w)
		default:
			return all
		}
	}
	return all
}

// commit commits the writes in one transaction. If one of them breaks it, each runs alone.
func (d *DB) commit(all []*write) {
	all = slices.DeleteFunc(all, func(w *write) bool {
		if w.ctx.Err() == nil {
			return false
		}
		w.done <- context.Cause(w.ctx)
		return true
	})
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b *write) int { return cmp.Compare(a.Order, b.Order) })
	err := d.send(d.urgent, all, lockWithin)
	for _, w := range all {
		switch {
		case err == nil:
			w.done <- nil
		case len(all) == 1 && !transient(err) && !locked(err):
			w.done <- explained(err)
		default:
			d.committers.Go(func() { w.done <- d.again(w, err) })
		}
	}
}

// again runs a write alone whose transaction has failed with err, unless nobody can know whether it
// was committed. Nobody else waits for it: it may wait for a lock as long as the
// patience lasts.
func (d *DB) again(w *write, err error) error {
	unknown := func(err error) bool { return w.Once && lost(err) && !unsent(err) }
	if unknown(err) {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return d.until(w.ctx, w.deadline, func() error {
		err := d.send(d.pool, []*write{w}, 0)
		if unknown(err) {
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
		}
		return err
	})
}

// send runs the writes in one transaction: what one batch sends is one, up to its end. It fails if
// one of them waits longer than wait for a lock; 0 is no limit. A transaction that takes longer than
// the patience counts as lost.
func (d *DB) send(pool *pgxpool.Pool, all []*write, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d.patience)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	if wait > 0 {
		batch.Queue(`SELECT set_config('lock_timeout', $1, true)`, milliseconds(wait))
	}
	for _, w := range all {
		batch.Queue(w.SQL, w.Args...).Query(w.read)
	}
	if err := conn.SendBatch(ctx, batch).Close(); err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w within %v", errSilent, d.patience)
}
