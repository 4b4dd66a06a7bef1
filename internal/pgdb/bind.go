package pgdb

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Binder completes a statement of a [DB]: it returns the text and the arguments to send. Its error is that of the statement, which is
// then not sent.
type Binder func(sql string, args []any) (string, []any, error)

// Bound returns the same database with each statement completed by bind. They share the connections, and Close closes both.
func (d *DB) Bound(bind Binder) *DB { return &DB{d.connections, bind} }

// bound completes a statement.
func (d *DB) bound(sql string, args []any) (string, []any, error) {
	if d.bind == nil {
		return sql, args, nil
	}
	return d.bind(sql, args)
}

// boundQueryer completes what it reads.
type boundQueryer struct {
	Queryer
	d *DB
}

func (q boundQueryer) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	sql, args, err := q.d.bound(sql, args)
	if err != nil {
		return nil, err
	}
	return q.Queryer.Query(ctx, sql, args...)
}

func (q boundQueryer) QueryRow(ctx context.Context, sql string, args ...any) Row {
	sql, args, err := q.d.bound(sql, args)
	if err != nil {
		return failedRow{err}
	}
	return q.Queryer.QueryRow(ctx, sql, args...)
}

// failedRow is the answer to a statement that was not sent.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// boundTx completes the statements of a transaction.
type boundTx struct {
	Tx
	d *DB
}

// Unbound returns the transaction as the driver has it, for libraries that send statements of their own.
func Unbound(tx Tx) Tx {
	if b, ok := tx.(boundTx); ok {
		return b.Tx
	}
	return tx
}

func (t boundTx) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return boundQueryer{t.Tx, t.d}.Query(ctx, sql, args...)
}

func (t boundTx) QueryRow(ctx context.Context, sql string, args ...any) Row {
	return boundQueryer{t.Tx, t.d}.QueryRow(ctx, sql, args...)
}

func (t boundTx) Exec(ctx context.Context, sql string, args ...any) (CommandTag, error) {
	sql, args, err := t.d.bound(sql, args)
	if err != nil {
		return CommandTag{}, err
	}
	return t.Tx.Exec(ctx, sql, args...)
}

func (t boundTx) SendBatch(ctx context.Context, b *Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		var err error
		if q.SQL, q.Arguments, err = t.d.bound(q.SQL, q.Arguments); err != nil {
			return failedBatch{err: err}
		}
	}
	return t.Tx.SendBatch(ctx, b)
}

// failedBatch is the answer to a batch that was not sent.
type failedBatch struct {
	pgx.BatchResults
	err error
}

func (b failedBatch) Exec() (CommandTag, error) { return CommandTag{}, b.err }
func (b failedBatch) Query() (Rows, error)      { return nil, b.err }
func (b failedBatch) QueryRow() Row             { return failedRow{b.err} }
func (b failedBatch) Close() error              { return b.err }
