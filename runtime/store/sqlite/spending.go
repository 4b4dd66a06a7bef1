package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Spending = (*Store)(nil)

// A sum in a row stops at a sixteenth of what an integer holds, because SQLite fails at a sum of
// rows that overflows.
const (
	spend = `INSERT INTO spent (day, project, agent, model, token, calls, unpriced, estimated, input, output, cache_read, cache_write, reasoning, cost)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (day, project, agent, model, token) DO UPDATE SET
			calls = calls + excluded.calls, unpriced = unpriced + excluded.unpriced, estimated = estimated + excluded.estimated,
			input = min(input + excluded.input, 1 << 59), output = min(output + excluded.output, 1 << 59),
			cache_read = min(cache_read + excluded.cache_read, 1 << 59), cache_write = min(cache_write + excluded.cache_write, 1 << 59),
			reasoning = min(reasoning + excluded.reasoning, 1 << 59), cost = min(cost + excluded.cost, 1 << 59)`
	reserve = `INSERT INTO reserved (day, project, agent, model, token, unpriced, input, least, most, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	release = `DELETE FROM reserved WHERE num = ?`

	// fold adds what nobody has settled to what was spent. The grouping keeps one row for each key.
	fold = `INSERT INTO spent (day, project, agent, model, token, calls, unpriced, estimated, input, output, cache_read, cache_write, reasoning, cost)
		SELECT day, project, agent, model, token, count(*), sum(unpriced), count(*), sum(input), 0, 0, 0, 0, sum(least)
		FROM reserved WHERE until <= ? GROUP BY day, project, agent, model, token
		ON CONFLICT (day, project, agent, model, token) DO UPDATE SET
			calls = calls + excluded.calls, unpriced = unpriced + excluded.unpriced, estimated = estimated + excluded.estimated,
			input = min(input + excluded.input, 1 << 59), cost = min(cost + excluded.cost, 1 << 59)`
	unfold = `DELETE FROM reserved WHERE until <= ?`

	spentSum    = `SELECT coalesce(sum(cost), 0) FROM spent`
	reservedSum = `SELECT coalesce(sum(iif(until <= ?1, least, 0)), 0), coalesce(sum(iif(until > ?1, most, 0)), 0), coalesce(sum(until > ?1), 0)
		FROM reserved`

	spentRows = `SELECT day, project, agent, model, token, sum(calls), sum(unpriced), sum(estimated),
		sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning), sum(cost) FROM (
			SELECT * FROM spent UNION ALL
			SELECT day, project, agent, model, token, 1, unpriced, 1, input, 0, 0, 0, 0, least FROM reserved WHERE until <= ?1)
		WHERE day >= ?2 AND (?3 IS NULL OR project = ?3) AND (?4 IS NULL OR token = ?4)
		GROUP BY day, project, agent, model, token ORDER BY day, project, agent, model, token`
)

// Reserve implements store.Spending. It is one write transaction, so no other process comes
// between the sums and the reservation.
func (s *Store) Reserve(ctx context.Context, r store.Reservation, limits []store.SpendingLimit) (id int64, err error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		now := s.now()
		if err := foldUnsettled(tx, now.Add(-store.Unsettled)); err != nil {
			return err
		}
		for _, l := range limits {
			if err := checkLimit(tx, l, now); err != nil {
				return err
			}
		}
		k, least := r.Least.SpentKey, r.Least.Bounded()
		res, err := tx.Exec(reserve, k.Day, k.Project, k.Agent, k.Model, k.Token, least.Unpriced, least.Usage.Input,
			int64(least.Cost), int64(min(r.Most, store.MaxCallCost)), now.Add(r.Hold).UnixNano())
		if err == nil {
			id, err = res.LastInsertId()
		}
		return err
	})
	var reached *store.LimitError
	if errors.As(err, &reached) {
		return 0, err
	}
	return id, s.failed("reserve what a model call may cost", err)
}

func foldUnsettled(tx *sqlitedb.Tx, before time.Time) error {
	if _, err := tx.Exec(fold, before.UnixNano()); err != nil {
		return err
	}
	_, err := tx.Exec(unfold, before.UnixNano())
	return err
}

// checkLimit returns a [*store.LimitError] if the limit is reached.
func checkLimit(tx *sqlitedb.Tx, l store.SpendingLimit, now time.Time) error {
	e := &store.LimitError{Limit: l}
	where, args := matching(l.SpendingFilter)
	if err := tx.QueryRow(spentSum+where, args...).Scan((*int64)(&e.Spent)); err != nil {
		return err
	}
	var left, reserved int64
	args = append([]any{now.UnixNano()}, args...)
	err := tx.QueryRow(reservedSum+where, args...).Scan(&left, &reserved, &e.Running)
	if err != nil {
		return err
	}
	e.Spent, e.Reserved = e.Spent+hook.Cost(left), hook.Cost(reserved)
	if e.Spent+e.Reserved >= l.Max {
		return e
	}
	return nil
}

// matching returns the condition of the filter: one of few texts, which stay prepared.
func matching(f store.SpendingFilter) (where string, args []any) {
	where, args = ` WHERE day >= ?`, []any{f.Since}
	if f.Project != nil {
		where, args = where+` AND project = ?`, append(args, *f.Project)
	}
	if f.Token != nil {
		where, args = where+` AND token = ?`, append(args, *f.Token)
		if *f.Token != "" {
			where += ` AND token <> ''` // which lets SQLite use the index
		}
	}
	return where, args
}

// Settle implements store.Spending.
func (s *Store) Settle(ctx context.Context, id int64, spent store.Spent) error {
	spent = spent.Bounded()
	err := s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		if id != 0 {
			if _, err := tx.Exec(release, id); err != nil {
				return err
			}
		}
		if spent.Calls == 0 {
			return nil
		}
		k, u := spent.SpentKey, spent.Usage
		_, err := tx.Exec(spend, k.Day, k.Project, k.Agent, k.Model, k.Token, spent.Calls, spent.Unpriced, spent.Estimated,
			u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, int64(spent.Cost))
		return err
	})
	return s.failed("note what a model call has cost", err)
}

// Spent implements store.Spending.
func (s *Store) Spent(ctx context.Context, f store.SpendingFilter) ([]store.Spent, error) {
	rows, err := s.db.Read().QueryContext(ctx, spentRows, s.now().UnixNano(), f.Since, f.Project, f.Token)
	var out []store.Spent
	if err == nil {
		out, err = scanSpent(rows)
	}
	return out, s.failed("read what model calls have cost", err)
}

func scanSpent(rows *sql.Rows) (out []store.Spent, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s store.Spent
		u := &s.Usage
		if err := rows.Scan(&s.Day, &s.Project, &s.Agent, &s.Model, &s.Token, &s.Calls, &s.Unpriced, &s.Estimated,
			&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Reasoning, (*int64)(&s.Cost)); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}
