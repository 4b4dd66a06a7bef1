package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

const (
	jobColumns = `j.num, j.kind, j.key, j.payload, j.conversation, j.turn, j.status, j.attempts, j.due, j.owner, j.epoch, j.failure, j.created, j.updated,
		j.project, j.version, j.contract`
	// free: the owner of the running job j is known to have died.
	free = `(j.owner = ANY ($5::text[]) OR EXISTS (SELECT FROM node n WHERE n.id = j.owner AND ` + statement.Dead + `))`
	open = `j.project = $2 AND {j.project} AND j.kind = ANY ($3::bytea[]) AND j.num <> ALL ($4::bigint[]) AND ($8::bigint = 0 OR j.num = $8)`
	// take gives nothing to a node that is dead: others would take it away at once.
	take = `UPDATE job j SET status = 'running', attempts = j.attempts + 1, epoch = j.epoch + 1, owner = $6, due = ` + statement.Now + ` + $7, updated = ` + statement.Now + `
		WHERE j.num = coalesce(
			(SELECT j.num FROM job j WHERE ` + open + ` AND j.status IN ('queued', 'running') AND j.due <= (SELECT ` + statement.Now + `)
				ORDER BY j.due, j.num LIMIT 1 FOR UPDATE SKIP LOCKED),
			(SELECT j.num FROM job j WHERE ` + open + ` AND j.status = 'running' AND ` + free + ` ORDER BY j.due, j.num LIMIT 1 FOR UPDATE SKIP LOCKED))
			AND NOT EXISTS (SELECT FROM node n WHERE n.id = $6 AND ` + statement.Dead + `)
		RETURNING ` + jobColumns
	nextDue = `SELECT min(j.due) FROM job j WHERE j.project = $1 AND {j.project} AND j.kind = ANY ($2::bytea[]) AND j.num <> ALL ($3::bigint[])
		AND ($4::bigint = 0 OR j.num = $4) AND j.status IN ('queued', 'running')`
	holdJob = `UPDATE job j SET due = ` + statement.Now + ` + $4 WHERE j.num = $2 AND {j.project} AND j.epoch = $3 AND j.status = 'running' RETURNING j.num`
	endJob  = `UPDATE job j SET status = $4::text, due = $5, failure = $6, attempts = j.attempts - $7, updated = ` + statement.Now + `,
		payload = CASE WHEN $4::text = 'succeeded' THEN '' ELSE j.payload END
		WHERE j.num = $2 AND {j.project} AND j.epoch = $3 AND j.status = 'running' RETURNING j.num`
	endedJob  = `SELECT j.num FROM job j WHERE j.num = $1 AND j.epoch = $2 AND j.status = $3 AND j.due = $4 AND j.failure = $5 AND {j.project}`
	jobByID   = `SELECT ` + jobColumns + ` FROM job j WHERE j.num = $1 AND j.project = $2 AND {j.project}`
	ofProject = `j.num = $2 AND {j.project} AND j.project = $3 AND j.status = ANY ($4::text[]) RETURNING ` + jobColumns
	cancelJob = `UPDATE job j SET status = 'cancelled', failure = 'cancelled', due = ` + statement.Now + `, updated = ` + statement.Now + `, epoch = j.epoch + 1 WHERE ` + ofProject
	retryJob  = `UPDATE job j SET status = 'queued', failure = '', attempts = 0, due = ` + statement.Now + `, updated = ` + statement.Now + ` WHERE ` + ofProject
	dropJob   = `DELETE FROM job j WHERE j.num = $1 AND j.project = $2 AND {j.project} AND j.status = ANY ($3::text[]) RETURNING ` + jobColumns
	matching  = ` FROM job j WHERE j.project = $1 AND {j.project} AND ($2::bytea = '' OR j.kind = $2) AND ($3::text = '' OR j.conversation = $3)
		AND ($4::bigint = 0 OR j.num = $4) AND ($5::bigint = 0 OR j.num < $5)`
)

// Enqueue implements store.Jobs.
func (s *Store) Enqueue(ctx context.Context, j store.Job) (queued bool, err error) {
	if err := store.CheckJob(j.Job); err != nil {
		return false, err
	}
	b := &statement.Builder{Args: []any{s.clock()}}
	id := b.Arg(j.Conversation, "text")
	b.Part("locked", `SELECT FROM conversation c WHERE c.id = `+id+` AND {c.project} FOR KEY SHARE`)
	b.Part("head", `SELECT WHERE EXISTS (SELECT FROM locked) OR NOT EXISTS (SELECT FROM conversation c WHERE c.id = `+id+`)`)
	sql := statement.InsertJobs(b, []store.Job{j}, "head")
	rows, err := pgdb.Apply(ctx, s.db, pgdb.Statement{Order: j.Conversation, SQL: b.With(sql), Args: b.Args}, scanNumber)
	return len(rows) > 0, s.failed("queue a job", err)
}

func scanNumber(row pgdb.Row) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

// TakeJob implements store.Jobs. If the answer is lost, the job that was taken runs at the end of
// its lease.
func (s *Store) TakeJob(ctx context.Context, t store.JobTake) (store.Job, error) {
	if err := t.Check(); err != nil {
		return store.Job{}, err
	}
	kinds, except, gone := byteSlices(t.Kinds), notNil(t.Except), notNil(t.Gone)
	j, err := one(pgdb.Apply(ctx, s.db, pgdb.Statement{SQL: take, Args: []any{
		s.clock(), []byte(t.Project), kinds, except, gone, t.Owner, int64(t.Hold), t.ID,
	}}, scanJob))
	if !errors.Is(err, pgdb.ErrNoRows) {
		return j, s.failed("take a job", err)
	}
	due, err := one(query(ctx, s, func(row pgdb.Row) (due *int64, err error) {
		err = row.Scan(&due)
		return due, err
	}, nextDue, []byte(t.Project), kinds, except, t.ID))
	if err != nil {
		return store.Job{}, s.failed("look for jobs", err)
	}
	if due != nil {
		return store.Job{Due: time.Unix(0, *due)}, store.ErrNoJob
	}
	return store.Job{}, store.ErrNoJob
}

func byteSlices(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = []byte(t)
	}
	return out
}

// notNil returns an empty slice for nil, which would be NULL.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// HoldJob implements store.Jobs.
func (s *Store) HoldJob(ctx context.Context, id, epoch int64, hold time.Duration) error {
	return s.failed("hold a job", s.changeJob(ctx, id, holdJob, s.clock(), id, epoch, int64(hold)))
}

// EndJob implements store.Jobs. It does nothing to an attempt that has ended in this way already,
// because it is repeated if its answer is lost.
func (s *Store) EndJob(ctx context.Context, id, epoch int64, e store.JobEnd) error {
	args := s.ending(id, epoch, e)
	err := s.changeJob(ctx, id, endJob, args...)
	if errors.Is(err, store.ErrFenced) {
		same, failed := query(ctx, s, scanNumber, endedJob, args[1:6]...)
		if failed != nil || len(same) > 0 {
			err = failed
		}
	}
	return s.failed("end a job", err)
}

// ending are the arguments of endJob.
func (s *Store) ending(id, epoch int64, e store.JobEnd) []any {
	uncounted, due := 0, int64(0)
	if e.Uncounted {
		uncounted = 1
	}
	if !e.Due.IsZero() {
		due = e.Due.UnixNano()
	}
	return []any{s.clock(), id, epoch, string(e.Status), due, []byte(e.Failure), uncounted}
}

// EndJobWith is EndJob with more in the same transaction: also is called before the commit, and again
// if a conflict or a lost connection has undone it. Nothing is changed if also fails; an error that the
// connection did not cause is returned as it is.
func (s *Store) EndJobWith(ctx context.Context, id, epoch int64, e store.JobEnd, also func(ctx context.Context, tx pgdb.Tx) error) error {
	err := s.db.Write(ctx, func(tx pgdb.Tx) error {
		var n int64
		err := tx.QueryRow(ctx, endJob, s.ending(id, epoch, e)...).Scan(&n)
		switch {
		case errors.Is(err, pgdb.ErrNoRows):
			return notRunning(ctx, tx, id)
		case err != nil:
			return err
		}
		return also(ctx, pgdb.Unbound(tx))
	})
	return s.failed("end a job", err)
}

// changeJob runs a statement that changes the job if that attempt of it runs.
func (s *Store) changeJob(ctx context.Context, id int64, sql string, args ...any) error {
	_, err := one(pgdb.Apply(ctx, s.db, pgdb.Statement{SQL: sql, Args: args}, scanNumber))
	if !errors.Is(err, pgdb.ErrNoRows) {
		return err
	}
	return s.db.Read(ctx, func(q pgdb.Queryer) error { return notRunning(ctx, q, id) })
}

// notRunning is why an attempt at the job cannot be held or ended.
func notRunning(ctx context.Context, q pgdb.Queryer, id int64) error {
	found, err := rowsOf(ctx, q, scanNumber, `SELECT num FROM job WHERE num = $1 AND {project}`, id)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return fmt.Errorf("%w: job %d", store.ErrUnknown, id)
	}
	return fmt.Errorf("%w: job %d", store.ErrFenced, id)
}

// ChangeJob implements store.Jobs. If the answer of a change is lost, it is made again: the error then says that the job has its new
// status already.
func (s *Store) ChangeJob(ctx context.Context, project string, id int64, change store.JobChange) (store.Job, error) {
	job := []any{id, []byte(project), statuses(change.From())}
	statement, known := map[store.JobChange]pgdb.Statement{
		store.JobCancel: {SQL: cancelJob, Args: append([]any{s.clock()}, job...)},
		store.JobRetry:  {SQL: retryJob, Args: append([]any{s.clock()}, job...)},
		store.JobDrop:   {SQL: dropJob, Args: job},
	}[change]
	if known {
		j, err := one(pgdb.Apply(ctx, s.db, statement, scanJob))
		if !errors.Is(err, pgdb.ErrNoRows) {
			return j, s.failed("change a job", err)
		}
	}
	j, err := one(query(ctx, s, scanJob, jobByID, id, []byte(project)))
	switch {
	case errors.Is(err, pgdb.ErrNoRows):
		return j, fmt.Errorf("%w: job %d", store.ErrUnknown, id)
	case err != nil:
		return j, s.failed("change a job", err)
	}
	return j, &store.JobStateError{ID: id, Status: j.Status, Change: change}
}

func statuses(all []store.JobStatus) []string {
	names := make([]string, len(all))
	for i, status := range all {
		names[i] = string(status)
	}
	return names
}

// Jobs implements store.Jobs.
func (s *Store) Jobs(ctx context.Context, f store.JobFilter) ([]store.Job, error) {
	where, args := ofFilter(f)
	out, err := query(ctx, s, scanJob, `SELECT `+jobColumns+where+` ORDER BY j.num DESC LIMIT $6`, append(args, f.Most())...)
	return out, s.failed("list jobs", err)
}

// CountJobs implements store.Jobs.
func (s *Store) CountJobs(ctx context.Context, f store.JobFilter) (int, error) {
	where, args := ofFilter(f)
	n, err := one(query(ctx, s, scanNumber, `SELECT count(*)`+where, args...))
	return int(n), s.failed("count jobs", err)
}

// ofFilter returns the condition of a filter, with its arguments. The statuses are in the text, so that the index of open jobs is used.
func ofFilter(f store.JobFilter) (where string, args []any) {
	where = matching
	if len(f.Statuses) > 0 {
		var known []string
		for _, status := range []store.JobStatus{store.JobQueued, store.JobRunning, store.JobSucceeded, store.JobFailed, store.JobCancelled} {
			if slices.Contains(f.Statuses, status) {
				known = append(known, "'"+string(status)+"'")
			}
		}
		where += ` AND j.status IN (` + strings.Join(append(known, "''"), ", ") + `)`
	}
	return where, []any{[]byte(f.Project), []byte(f.Kind), f.Conversation, f.ID, f.Before}
}

func scanJob(row pgdb.Row) (j store.Job, err error) {
	var kind, key, payload, failure, project []byte
	var due, created, updated int64
	err = row.Scan(&j.ID, &kind, &key, &payload, &j.Conversation, &j.Turn, (*string)(&j.Status), &j.Attempts,
		&due, &j.Owner, &j.Epoch, &failure, &created, &updated, &project, &j.Version, &j.Contract)
	j.Kind, j.Key, j.Failure, j.Project = string(kind), string(key), string(failure), string(project)
	j.Payload = message.JSON(payload)
	j.Created, j.Updated = time.Unix(0, created), time.Unix(0, updated)
	if due != 0 {
		j.Due = time.Unix(0, due)
	}
	return j, err
}
