package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Jobs = (*Store)(nil)

const (
	insertJob = `INSERT INTO job (kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated, project, version, contract)
		SELECT ?1, ?2, ?3, ?4, ?5, 'queued', 0, max(?6, ?10), '', 0, '', ?6, ?6, ?7, ?8, ?9 WHERE NOT EXISTS (SELECT 1 FROM erased WHERE id = ?4)
		ON CONFLICT (project, kind, key) DO UPDATE SET payload = ?3, conversation = ?4, turn = ?5, status = 'queued', attempts = 0, due = max(?6, ?10),
			failure = '', updated = ?6, version = ?8, contract = ?9 WHERE status = 'failed'`
	jobColumns = `num, kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated, project, version, contract`
	openJob    = `project = ?3 AND status IN ('queued', 'running') AND kind IN (SELECT value FROM json_each(?1)) AND num NOT IN (SELECT value FROM json_each(?4)) AND (?8 = 0 OR num = ?8)`
	nextJob    = `SELECT coalesce(min(due), 0), count(*), coalesce(sum(status = 'running' AND owner IN (SELECT value FROM json_each(?2))), 0)
		FROM job WHERE ` + openJob
	takeJob = `UPDATE job SET status = 'running', attempts = attempts + 1, epoch = epoch + 1, owner = ?5, due = ?6, updated = ?7
		WHERE num = (SELECT num FROM job INDEXED BY job_due WHERE ` + openJob + ` AND (due <= ?7 OR status = 'running' AND owner IN (SELECT value FROM json_each(?2)))
			ORDER BY due, num LIMIT 1) RETURNING ` + jobColumns
	endJob = `UPDATE job SET status = ?1, due = ?2, failure = ?3, attempts = attempts - ?4, updated = ?5, payload = iif(?1 = 'succeeded', '', payload)
		WHERE num = ?6 AND epoch = ?7 AND status = 'running'`
	holdJob = `UPDATE job SET due = ?1 WHERE num = ?2 AND epoch = ?3 AND status = 'running'`
	jobByID = `SELECT ` + jobColumns + ` FROM job WHERE num = ?1 AND project = ?2`

	cancelJob = `UPDATE job SET status = 'cancelled', failure = 'cancelled', due = ?2, updated = ?2, epoch = epoch + 1 WHERE num = ?1`
	retryJob  = `UPDATE job SET status = 'queued', failure = '', attempts = 0, due = ?2, updated = ?2 WHERE num = ?1`
	dropJob   = `DELETE FROM job WHERE num = ?1`
)

// Enqueue implements store.Jobs.
func (s *Store) Enqueue(ctx context.Context, j store.Job) (queued bool, err error) {
	if err := store.CheckJob(j.Job); err != nil {
		return false, err
	}
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		queued, err = enqueue(tx, j, s.now())
		return err
	})
	return queued, s.failed("queue a job", err)
}

func enqueue(tx *sqlitedb.Tx, j store.Job, now time.Time) (queued bool, err error) {
	res, err := tx.Exec(insertJob, j.Kind, j.Key, string(j.Payload), j.Conversation, j.Turn, now.UnixNano(), j.Project, max(1, j.Version), max(1, j.Contract), nanos(j.Due))
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// enqueueAll queues the jobs of a write to a conversation.
func enqueueAll(tx *sqlitedb.Tx, jobs []store.Job, now time.Time) error {
	for _, j := range jobs {
		if _, err := enqueue(tx, j, now); err != nil {
			return err
		}
	}
	return nil
}

// TakeJob implements store.Jobs. It writes only if there is something to take.
func (s *Store) TakeJob(ctx context.Context, t store.JobTake) (j store.Job, err error) {
	if err := t.Check(); err != nil {
		return j, err
	}
	kinds, gone, except := list(t.Kinds), list(t.Gone), list(t.Except)
	var due, open, left int64
	if err := s.db.Read().QueryRowContext(ctx, nextJob, kinds, gone, t.Project, except, "", 0, 0, t.ID).Scan(&due, &open, &left); err != nil {
		return j, s.failed("look for jobs", err)
	}
	if open > 0 {
		j.Due = time.Unix(0, due)
	}
	if open == 0 || left == 0 && j.Due.After(s.now()) {
		return j, store.ErrNoJob
	}
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		now := s.now()
		j, err = scanJob(tx.QueryRow(takeJob, kinds, gone, t.Project, except, t.Owner, now.Add(t.Hold).UnixNano(), now.UnixNano(), t.ID))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) { // another process has just taken it
		return store.Job{Due: s.now()}, store.ErrNoJob
	}
	return j, s.failed("take a job", err)
}

// HoldJob implements store.Jobs.
func (s *Store) HoldJob(ctx context.Context, id, epoch int64, hold time.Duration) error {
	err := s.changeJob(ctx, id, holdJob, s.now().Add(hold).UnixNano(), id, epoch)
	return s.failed("hold a job", err)
}

// changeJob runs a statement that changes the job if that attempt of it runs.
func (s *Store) changeJob(ctx context.Context, id int64, statement string, args ...any) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		res, err := tx.Exec(statement, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n > 0 || err != nil {
			return err
		}
		var known int
		if err := tx.QueryRow(`SELECT count(*) FROM job WHERE num = ?`, id).Scan(&known); err != nil {
			return err
		}
		if known == 0 {
			return fmt.Errorf("%w: job %d", store.ErrUnknown, id)
		}
		return fmt.Errorf("%w: job %d", store.ErrFenced, id)
	})
}

// EndJob implements store.Jobs.
func (s *Store) EndJob(ctx context.Context, id, epoch int64, e store.JobEnd) error {
	uncounted := 0
	if e.Uncounted {
		uncounted = 1
	}
	err := s.changeJob(ctx, id, endJob, string(e.Status), nanos(e.Due), e.Failure, uncounted, s.now().UnixNano(), id, epoch)
	return s.failed("end a job", err)
}

// nanos is the time as it is stored; 0 is none.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// ChangeJob implements store.Jobs.
func (s *Store) ChangeJob(ctx context.Context, project string, id int64, change store.JobChange) (j store.Job, err error) {
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		j, err = scanJob(tx.QueryRow(jobByID, id, project))
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: job %d", store.ErrUnknown, id)
		}
		if err != nil {
			return err
		}
		if !slices.Contains(change.From(), j.Status) {
			return &store.JobStateError{ID: id, Status: j.Status, Change: change}
		}
		now := s.now().UnixNano()
		switch change {
		case store.JobDrop:
			_, err = tx.Exec(dropJob, id)
			return err
		case store.JobRetry:
			_, err = tx.Exec(retryJob, id, now)
		case store.JobCancel:
			_, err = tx.Exec(cancelJob, id, now)
		}
		if err == nil {
			j, err = scanJob(tx.QueryRow(jobByID, id, project))
		}
		return err
	})
	if state, ok := errors.AsType[*store.JobStateError](err); ok {
		return j, state
	}
	return j, s.failed("change a job", err)
}

// Jobs implements store.Jobs.
func (s *Store) Jobs(ctx context.Context, f store.JobFilter) ([]store.Job, error) {
	where, args := jobsWhere(f)
	out, err := s.jobs(ctx, `SELECT `+jobColumns+` FROM job`+where+` ORDER BY num DESC LIMIT ?`, append(args, f.Most())...)
	return out, s.failed("list jobs", err)
}

// CountJobs implements store.Jobs.
func (s *Store) CountJobs(ctx context.Context, f store.JobFilter) (n int, err error) {
	where, args := jobsWhere(f)
	err = s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM job`+where, args...).Scan(&n)
	return n, s.failed("count jobs", err)
}

// jobsWhere returns the condition of a filter, with its arguments.
func jobsWhere(f store.JobFilter) (where string, args []any) {
	where, args = ` WHERE project = ?`, []any{f.Project}
	if len(f.Statuses) > 0 {
		where, args = where+` AND status IN (SELECT value FROM json_each(?))`, append(args, list(f.Statuses))
	}
	for _, c := range []struct{ column, value string }{{"kind", f.Kind}, {"conversation", f.Conversation}} {
		if c.value != "" {
			where, args = where+` AND `+c.column+` = ?`, append(args, c.value)
		}
	}
	if f.ID != 0 {
		where, args = where+` AND num = ?`, append(args, f.ID)
	}
	if f.Before != 0 {
		where, args = where+` AND num < ?`, append(args, f.Before)
	}
	return where, args
}

func (s *Store) jobs(ctx context.Context, query string, args ...any) ([]store.Job, error) {
	rows, err := s.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var out []store.Job
	for rows.Next() {
		j, err := scanJob(rows)
		if err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		out = append(out, j)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

func scanJob(row interface{ Scan(dest ...any) error }) (j store.Job, err error) {
	var due, created, updated int64
	err = row.Scan(&j.ID, &j.Kind, &j.Key, (*string)(&j.Payload), &j.Conversation, &j.Turn, (*string)(&j.Status), &j.Attempts,
		&due, &j.Owner, &j.Epoch, &j.Failure, &created, &updated, &j.Project, &j.Version, &j.Contract)
	j.Created, j.Updated = time.Unix(0, created), time.Unix(0, updated)
	if due != 0 {
		j.Due = time.Unix(0, due)
	}
	return j, err
}

// list returns the values as a JSON array, for json_each.
func list[T ~string | ~int64](values []T) string {
	if len(values) == 0 {
		return "[]"
	}
	data, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("sqlite: encode a list: %v", err))
	}
	return string(data)
}
