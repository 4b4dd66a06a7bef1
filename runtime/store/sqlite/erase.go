package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Eraser = (*Store)(nil)

const (
	// nextNumber is behind every number that a conversation has or had.
	nextNumber = `(SELECT 1 + max(coalesce((SELECT max(num) FROM conversation), 0), coalesce((SELECT max(num) FROM erased), 0)))`

	descendantRows = descendants + `SELECT d.num, d.id, c.owner, c.epoch, c.until FROM descendant d JOIN conversation c ON c.num = d.num ORDER BY d.id <> ?1, d.num`
	eraseRunning   = `SELECT owner, epoch, due FROM job WHERE conversation = ?1 AND status = 'running' AND due > ?2
		AND owner NOT IN (SELECT value FROM json_each(?3)) LIMIT 1`
	weighOne = `SELECT coalesce((SELECT sum(length(CAST(body AS BLOB))) FROM message WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32), 0)
		+ coalesce((SELECT sum(length(CAST(body AS BLOB))) FROM event WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32), 0)
		+ coalesce((SELECT sum(coalesce(length(CAST(message AS BLOB)), 0) + length(data)) FROM entry WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32), 0)
		+ coalesce((SELECT sum(length(CAST(body AS BLOB))) FROM archive WHERE conversation = ?1), 0)
		+ coalesce((SELECT sum(coalesce(length(CAST(message AS BLOB)), 0) + length(data)) FROM archived_entry WHERE conversation = ?1), 0)
		+ coalesce((SELECT sum(length(CAST(data AS BLOB))) FROM state WHERE conversation = ?1), 0)`
	eraseMessages        = `DELETE FROM message WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32`
	eraseEvents          = `DELETE FROM event WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32`
	eraseArchive         = `DELETE FROM archive WHERE conversation = ?1`
	eraseArchivedEntries = `DELETE FROM archived_entry WHERE conversation = ?1`
	eraseStates          = `DELETE FROM state WHERE conversation = ?1`
	eraseWords           = `DELETE FROM word WHERE rowid >= ?1 << 32 AND rowid < (?1 + 1) << 32`
	eraseJobs            = `DELETE FROM job WHERE conversation = ?1`
	eraseRuns            = `DELETE FROM hook_run WHERE conversation = ?1`
	eraseRow             = `DELETE FROM conversation WHERE num = ?1`
	rememberErased       = `INSERT INTO erased (id, num, at) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING`

	projectRunning = `SELECT owner, epoch, due FROM job WHERE project = ?1 AND conversation = '' AND status = 'running' AND due > ?2
		AND owner NOT IN (SELECT value FROM json_each(?3)) LIMIT 1`
	eraseProjectJobs = `DELETE FROM job WHERE project = ?1 AND conversation = ''`
	eraseProjectRuns = `DELETE FROM hook_run WHERE project = ?1 AND conversation = ''`
)

// Erase implements store.Eraser.
func (s *Store) Erase(ctx context.Context, id string, gone []string) (out store.Erased, err error) {
	err = s.db.Indexed(ctx, func() error {
		return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
			out, err = s.erase(tx, id, list(gone))
			return err
		})
	})
	return out, s.failed("delete conversation "+id, err)
}

func (s *Store) erase(tx *sqlitedb.Tx, id, gone string) (out store.Erased, err error) {
	rec, err := scan(tx.QueryRow(byID, id))
	if errors.Is(err, sql.ErrNoRows) || err == nil && rec.Parent != "" {
		return out, unknown(id)
	}
	if err != nil {
		return out, err
	}
	nums, ids, err := s.erasable(tx, id, gone)
	if err != nil {
		return store.Erased{}, err
	}
	for i, num := range nums {
		if err := eraseOne(tx, num, ids[i], s.now(), &out); err != nil {
			return store.Erased{}, err
		}
	}
	out.Conversations = ids
	return out, all(tx, do(flushWords))
}

// erasable returns the conversation and all below it, unless one of them is in use.
func (s *Store) erasable(tx *sqlitedb.Tx, id, gone string) (nums []int64, ids []string, err error) {
	now := s.now().UnixNano()
	var tree []descendant
	if tree, err = descendantsOf(tx, id); err != nil {
		return nil, nil, err
	}
	for _, d := range tree {
		if d.until > now && !isIn(tx, d.owner, gone) {
			return nil, nil, &store.LeasedError{Lease: store.Lease{Owner: d.owner, Epoch: d.epoch, Until: time.Unix(0, d.until)}}
		}
		if err := running(tx.QueryRow(eraseRunning, d.id, now, gone)); err != nil {
			return nil, nil, err
		}
		nums, ids = append(nums, d.num), append(ids, d.id)
	}
	return nums, ids, nil
}

type descendant struct {
	num, epoch, until int64
	id, owner         string
}

func descendantsOf(tx *sqlitedb.Tx, id string) (out []descendant, err error) {
	rows, err := tx.Query(descendantRows, id)
	if err != nil {
		return nil, err
	}
	err = scanAll(rows, func() error {
		var d descendant
		err := rows.Scan(&d.num, &d.id, &d.owner, &d.epoch, &d.until)
		out = append(out, d)
		return err
	})
	return out, err
}

func isIn(tx *sqlitedb.Tx, owner, gone string) bool {
	var n int
	err := tx.QueryRow(`SELECT count(*) FROM json_each(?) WHERE value = ?`, gone, owner).Scan(&n)
	return err == nil && n > 0
}

// running returns a LeasedError if the row has a running job.
func running(row *sql.Row) error {
	var l store.Lease
	var due int64
	switch err := row.Scan(&l.Owner, &l.Epoch, &due); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	l.Until = time.Unix(0, due)
	return &store.LeasedError{Lease: l}
}

func eraseOne(tx *sqlitedb.Tx, num int64, id string, now time.Time, out *store.Erased) error {
	var bytes int64
	if err := tx.QueryRow(weighOne, num).Scan(&bytes); err != nil {
		return err
	}
	out.Bytes += bytes
	for _, part := range []struct {
		query string
		arg   any
		count *int64
	}{
		{eraseMessages, num, &out.Messages}, {eraseArchive, num, &out.Messages}, {clearJournal, num, &out.Entries},
		{eraseArchivedEntries, num, &out.Entries}, {eraseEvents, num, &out.Events}, {eraseStates, num, &out.States},
		{eraseWords, num, nil}, {eraseJobs, id, &out.Jobs}, {eraseRuns, id, &out.Runs}, {eraseRow, num, nil},
	} {
		if err := counted(tx, part.count, part.query, part.arg); err != nil {
			return err
		}
	}
	return all(tx, do(rememberErased, id, num, now.UnixNano()))
}

// counted runs the statement and adds the rows that it changed to n, unless that is nil.
func counted(tx *sqlitedb.Tx, n *int64, query string, args ...any) error {
	res, err := tx.Exec(query, args...)
	if err != nil || n == nil {
		return err
	}
	rows, err := res.RowsAffected()
	*n += rows
	return err
}

// EraseProject implements store.Eraser.
func (s *Store) EraseProject(ctx context.Context, project string, gone []string) (out store.Erased, err error) {
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		out = store.Erased{}
		if err := running(tx.QueryRow(projectRunning, project, s.now().UnixNano(), list(gone))); err != nil {
			return err
		}
		if err := counted(tx, &out.Jobs, eraseProjectJobs, project); err != nil {
			return err
		}
		return counted(tx, &out.Runs, eraseProjectRuns, project)
	})
	if err != nil {
		out = store.Erased{}
	}
	return out, s.failed("delete what is left of a project", err)
}

const weighTree = descendants + `SELECT num FROM descendant`

// Weigh implements store.Eraser.
func (s *Store) Weigh(ctx context.Context, id string) (int64, error) {
	var total int64
	var nums []int64
	rows, err := s.db.Read().QueryContext(ctx, weighTree, id)
	if err == nil {
		err = scanAll(rows, func() error {
			var num int64
			err := rows.Scan(&num)
			nums = append(nums, num)
			return err
		})
	}
	if err == nil && len(nums) == 0 {
		err = unknown(id)
	}
	for _, num := range nums {
		var bytes int64
		if err == nil {
			err = s.db.Read().QueryRowContext(ctx, weighOne, num).Scan(&bytes)
		}
		total += bytes
	}
	if err != nil {
		return 0, s.failed("weigh conversation "+id, err)
	}
	return total, nil
}

// mergePages is how many pages of the index one step of Shrink writes, about.
const mergePages = 500

// Shrink implements store.Eraser. The words of deleted rows stay in the index until their
// segments are merged: it merges all, as the documentation of FTS5 says ("The 'merge' Command").
func (s *Store) Shrink(ctx context.Context) (freed int64, err error) {
	err = s.db.Indexed(ctx, func() error {
		pages := -mergePages
		for again := true; again; pages = mergePages {
			if err := s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
				again, err = merge(tx, pages)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		freed, err = s.db.Shrink(ctx)
	}
	return freed, s.failed("give space back", err)
}

// merge does one step of merging and reports whether there is more to do.
func merge(tx *sqlitedb.Tx, pages int) (bool, error) {
	var before, after int64
	if err := tx.QueryRow(`SELECT total_changes()`).Scan(&before); err != nil {
		return false, err
	}
	if _, err := tx.Exec(`INSERT INTO word (word, rank) VALUES ('merge', ?)`, pages); err != nil {
		return false, err
	}
	err := tx.QueryRow(`SELECT total_changes()`).Scan(&after)
	return after-before >= 2 || pages < 0, err
}
