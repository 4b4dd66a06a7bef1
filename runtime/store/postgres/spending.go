package postgres

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

// A sum in a row stops at a sixteenth of what an integer holds.
const (
	spentColumns = `day, project, agent, model, token, calls, unpriced, estimated, input, output, cache_read, cache_write, reasoning, cost`
	addSpent     = ` ON CONFLICT (day, project, agent, model, token) DO UPDATE SET
		calls = spent.calls + excluded.calls, unpriced = spent.unpriced + excluded.unpriced, estimated = spent.estimated + excluded.estimated,
		input = least(spent.input + excluded.input, 1::bigint << 59), output = least(spent.output + excluded.output, 1::bigint << 59),
		cache_read = least(spent.cache_read + excluded.cache_read, 1::bigint << 59), cache_write = least(spent.cache_write + excluded.cache_write, 1::bigint << 59),
		reasoning = least(spent.reasoning + excluded.reasoning, 1::bigint << 59), cost = least(spent.cost + excluded.cost, 1::bigint << 59)`
	// settle ends a reservation and adds what the call has cost.
	settle = `WITH released AS (DELETE FROM reserved WHERE num = $1 AND {project})
		INSERT INTO spent (` + spentColumns + `) SELECT $2::text, $3::bytea, $4::bytea, $5::bytea, $6::bytea, $7::bigint, $8::bigint, $9::bigint, $10::bigint, $11::bigint, $12::bigint, $13::bigint, $14::bigint, $15::bigint
		WHERE $7::bigint > 0 AND {$3::bytea}` + addSpent
	// foldUnsettled adds what nobody has settled to what was spent. The grouping keeps one row for each key.
	foldUnsettled = `WITH old AS (DELETE FROM reserved WHERE until <= (SELECT ` + statement.Now + ` - $2::bigint) AND {project} RETURNING *)
		INSERT INTO spent (` + spentColumns + `) SELECT day, project, agent, model, token, count(*), sum(unpriced)::bigint, count(*), sum(input)::bigint, 0, 0, 0, 0, sum(least)::bigint
		FROM old GROUP BY day, project, agent, model, token ORDER BY day, project, agent, model, token` + addSpent
	reserve = `INSERT INTO reserved (day, project, agent, model, token, unpriced, input, least, most, until)
		SELECT $2::text, $3::bytea, $4::bytea, $5::bytea, $6::bytea, $7::bigint, $8::bigint, $9::bigint, $10::bigint, ` + statement.Now + ` + $11::bigint WHERE {$3::bytea} RETURNING num`

	spentSum    = `SELECT coalesce(sum(cost), 0)::bigint FROM spent`
	reservedSum = `SELECT coalesce(sum(CASE WHEN until <= t THEN least END), 0)::bigint, coalesce(sum(CASE WHEN until > t THEN most END), 0)::bigint, count(CASE WHEN until > t THEN 1 END)
		FROM (SELECT ` + statement.Now + ` AS t) x CROSS JOIN reserved`
	spentRows = `SELECT day, project, agent, model, token, sum(calls)::bigint, sum(unpriced)::bigint, sum(estimated)::bigint,
		sum(input)::bigint, sum(output)::bigint, sum(cache_read)::bigint, sum(cache_write)::bigint, sum(reasoning)::bigint, sum(cost)::bigint FROM (
			SELECT ` + spentColumns + ` FROM spent UNION ALL
			SELECT day, project, agent, model, token, 1, unpriced, 1, input, 0, 0, 0, 0, least FROM reserved WHERE until <= (SELECT ` + statement.Now + `)) x`
	spentOrder = ` GROUP BY day, project, agent, model, token ORDER BY day, project, agent, model, token`
)

// Reserve implements store.Spending. Calls that count for one limit wait for each other, so that
// none comes between the sums and the reservation.
func (s *Store) Reserve(ctx context.Context, r store.Reservation, limits []store.SpendingLimit) (id int64, err error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(tx pgdb.Tx) error {
		if err := s.checkLimits(ctx, tx, limits); err != nil {
			return err
		}
		k, least := r.Least.SpentKey, r.Least.Bounded()
		return tx.QueryRow(ctx, reserve, s.clock(), k.Day, []byte(k.Project), []byte(k.Agent), []byte(k.Model), []byte(k.Token), least.Unpriced, least.Usage.Input,
			int64(least.Cost), int64(min(r.Most, store.MaxCallCost)), int64(r.Hold)).Scan(&id)
	})
	if _, reached := errors.AsType[*store.LimitError](err); reached {
		return 0, err
	}
	return id, s.failed("reserve what a model call may cost", err)
}

// checkLimits returns a [*store.LimitError] for the first limit that is reached.
func (s *Store) checkLimits(ctx context.Context, tx pgdb.Tx, limits []store.SpendingLimit) error {
	batch := &pgdb.Batch{}
	for _, lock := range statement.Locks(limits) {
		batch.Queue(`SELECT pg_advisory_xact_lock($1)`+anyTenant, lock)
	}
	batch.Queue(foldUnsettled, s.clock(), int64(store.Unsettled))
	reached := make([]store.LimitError, len(limits))
	for i, l := range limits {
		e := &reached[i]
		e.Limit = l
		where, args := statement.Selected(l.SpendingFilter, s.clock())
		var left int64
		batch.Queue(reservedSum+where, args...).QueryRow(func(row pgdb.Row) error { return row.Scan(&left, (*int64)(&e.Reserved), &e.Running) })
		where, args = statement.Selected(l.SpendingFilter)
		batch.Queue(spentSum+where, args...).QueryRow(func(row pgdb.Row) error {
			err := row.Scan((*int64)(&e.Spent))
			e.Spent += hook.Cost(left)
			return err
		})
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for i := range reached {
		if e := &reached[i]; e.Spent+e.Reserved >= e.Limit.Max {
			return e
		}
	}
	return nil
}

// Settle implements store.Spending. If its answer is lost, it is not repeated: the call may count
// as its reservation.
func (s *Store) Settle(ctx context.Context, id int64, spent store.Spent) error {
	spent = spent.Bounded()
	k, u := spent.SpentKey, spent.Usage
	_, err := pgdb.Apply(ctx, s.db, pgdb.Statement{SQL: settle, Once: true, Args: []any{
		id, k.Day, []byte(k.Project), []byte(k.Agent), []byte(k.Model), []byte(k.Token), spent.Calls, spent.Unpriced, spent.Estimated,
		u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, int64(spent.Cost),
	}}, scanNumber)
	return s.failed("note what a model call has cost", err)
}

// Spent implements store.Spending.
func (s *Store) Spent(ctx context.Context, f store.SpendingFilter) ([]store.Spent, error) {
	where, args := statement.Selected(f, s.clock())
	out, err := query(ctx, s, scanSpent, spentRows+where+spentOrder, args...)
	return out, s.failed("read what model calls have cost", err)
}

func scanSpent(row pgdb.Row) (s store.Spent, err error) {
	var project, agent, model, token []byte
	u := &s.Usage
	err = row.Scan(&s.Day, &project, &agent, &model, &token, &s.Calls, &s.Unpriced, &s.Estimated,
		&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Reasoning, (*int64)(&s.Cost))
	s.Project, s.Agent, s.Model, s.Token = string(project), string(agent), string(model), string(token)
	return s, err
}
