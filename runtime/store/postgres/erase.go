package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

const (
	runningJobs = `SELECT j.owner, j.epoch, j.due FROM job j WHERE j.conversation = ANY ($2::text[]) AND j.status = 'running' AND {j.project} AND ` + inUse
	projectJobs = `SELECT j.owner, j.epoch, j.due FROM job j WHERE j.project = $2 AND j.conversation = '' AND j.status = 'running' AND {j.project} AND ` + inUse
	// inUse: the owner of job j may still work at it.
	inUse = `j.due > ` + statement.Now + ` AND j.owner <> ALL ($3::text[]) AND NOT EXISTS (SELECT FROM node n WHERE n.id = j.owner AND ` + statement.Dead + `) LIMIT 1`

	weights = `SELECT (SELECT coalesce(sum(octet_length(t.body)), 0) FROM message t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation})
		+ (SELECT coalesce(sum(octet_length(t.body)), 0) FROM event t WHERE t.conversation = ANY ($1) AND {of t.conversation})
		+ (SELECT coalesce(sum(coalesce(octet_length(t.message), 0) + octet_length(t.data)), 0) FROM entry t WHERE t.conversation = ANY ($1) AND {of t.conversation})
		+ (SELECT coalesce(sum(octet_length(t.body)), 0) FROM archive t WHERE t.conversation = ANY ($1) AND {of t.conversation})
		+ (SELECT coalesce(sum(coalesce(octet_length(t.message), 0) + octet_length(t.data)), 0) FROM archived_entry t WHERE t.conversation = ANY ($1) AND {of t.conversation})
		+ (SELECT coalesce(sum(octet_length(t.data)), 0) FROM state t WHERE t.conversation = ANY ($1) AND {of t.conversation})`
	remember = `INSERT INTO erased (id, at) SELECT id, ` + statement.Now + ` FROM unnest($2::text[]) x (id)
		WHERE EXISTS (SELECT FROM conversation c WHERE c.id = x.id AND {c.project}) ON CONFLICT (id) DO NOTHING`
)

// Erase implements store.Eraser.
func (s *Store) Erase(ctx context.Context, id string, gone []string) (out store.Erased, err error) {
	err = s.db.Write(ctx, func(tx pgdb.Tx) error {
		out, err = s.erase(ctx, tx, id, notNil(gone))
		return err
	})
	if err != nil {
		return store.Erased{}, s.failed("delete conversation "+id, err)
	}
	return out, nil
}

func (s *Store) erase(ctx context.Context, tx pgdb.Tx, id string, gone []string) (out store.Erased, err error) {
	tree, err := lockTree(ctx, tx, s.clock(), id)
	if err != nil {
		return out, err
	}
	nums := numbers(tree)
	for _, l := range tree {
		out.Conversations = append(out.Conversations, l.ID)
	}
	if err := s.erasable(ctx, tx, tree, out.Conversations, gone); err != nil {
		return out, err
	}
	if err := tx.QueryRow(ctx, weights, nums).Scan(&out.Bytes); err != nil {
		return out, err
	}
	batch := &pgdb.Batch{}
	for _, part := range []struct {
		sql   string
		arg   any
		count *int64
	}{
		{`DELETE FROM message t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation}`, nums, &out.Messages},
		{`DELETE FROM archive t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation}`, nums, &out.Messages},
		{`DELETE FROM entry t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation}`, nums, &out.Entries},
		{`DELETE FROM archived_entry t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation}`, nums, &out.Entries},
		{`DELETE FROM event t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation}`, nums, &out.Events},
		{`DELETE FROM state t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation}`, nums, &out.States},
		{`DELETE FROM word t WHERE t.conversation = ANY ($1::bigint[]) AND {of t.conversation}`, nums, nil},
		{`DELETE FROM job WHERE conversation = ANY ($1::text[]) AND {project}`, out.Conversations, &out.Jobs},
		{`DELETE FROM hook_run WHERE conversation = ANY ($1::bytea[]) AND {project}`, byteSlices(out.Conversations), &out.Runs},
	} {
		queueCounted(batch, part.count, part.sql, part.arg)
	}
	batch.Queue(remember, s.clock(), out.Conversations)
	batch.Queue(`DELETE FROM conversation WHERE num = ANY ($1::bigint[]) AND {project}`, nums)
	return out, tx.SendBatch(ctx, batch).Close()
}

// queueCounted adds a statement to the batch, and the rows that it changes to n, unless that is
// nil.
func queueCounted(b *pgdb.Batch, n *int64, sql string, args ...any) {
	b.Queue(sql, args...).Exec(func(tag pgdb.CommandTag) error {
		if n != nil {
			*n += tag.RowsAffected()
		}
		return nil
	})
}

// erasable returns a LeasedError if one of the conversations is in use.
func (s *Store) erasable(ctx context.Context, tx pgdb.Tx, tree []locked, ids, gone []string) error {
	nanoseconds, err := one(rowsOf(ctx, tx, scanNumber, `SELECT `+statement.Now+anyTenant, s.clock()))
	if err != nil {
		return err
	}
	for _, l := range tree {
		if l.Lease.Until.After(time.Unix(0, nanoseconds)) && !slices.Contains(gone, l.Lease.Owner) {
			return &store.LeasedError{Lease: l.Lease}
		}
	}
	return running(rowsOf(ctx, tx, scanLease, runningJobs, s.clock(), ids, gone))
}

func scanLease(row pgdb.Row) (l store.Lease, err error) {
	var due int64
	err = row.Scan(&l.Owner, &l.Epoch, &due)
	l.Until = time.Unix(0, due)
	return l, err
}

// running returns a LeasedError if there is a running job.
func running(jobs []store.Lease, err error) error {
	if err != nil || len(jobs) == 0 {
		return err
	}
	return &store.LeasedError{Lease: jobs[0]}
}

// EraseProject implements store.Eraser.
func (s *Store) EraseProject(ctx context.Context, project string, gone []string) (out store.Erased, err error) {
	err = s.db.Write(ctx, func(tx pgdb.Tx) error {
		out = store.Erased{}
		if err := running(rowsOf(ctx, tx, scanLease, projectJobs, s.clock(), []byte(project), notNil(gone))); err != nil {
			return err
		}
		batch := &pgdb.Batch{}
		queueCounted(batch, &out.Jobs, `DELETE FROM job WHERE project = $1 AND conversation = '' AND {project}`, []byte(project))
		queueCounted(batch, &out.Runs, `DELETE FROM hook_run WHERE project = $1 AND conversation = '' AND {project}`, []byte(project))
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		out = store.Erased{}
	}
	return out, s.failed("delete what is left of a project", err)
}

const treeNumbers = `WITH RECURSIVE tree (num, id) AS (SELECT num, id FROM conversation WHERE id = $1 AND {project}
	UNION SELECT c.num, c.id FROM conversation c JOIN tree t ON c.parent = t.id AND c.parent <> '' AND {c.project}) SELECT num FROM tree`

// Weigh implements store.Eraser.
func (s *Store) Weigh(ctx context.Context, id string) (total int64, err error) {
	err = s.db.Snapshot(ctx, func(q pgdb.Queryer) error {
		nums, err := rowsOf(ctx, q, scanNumber, treeNumbers, id)
		switch {
		case err != nil:
			return err
		case len(nums) == 0:
			return unknown(id)
		}
		return q.QueryRow(ctx, weights, nums).Scan(&total)
	})
	return total, s.failed("weigh conversation "+id, err)
}

// shrunk are the tables that a deletion leaves holes in.
var shrunk = []string{"message", "archive", "entry", "archived_entry", "event", "state", "word", "job", "hook_run", "conversation"}

// Shrink implements store.Eraser. It vacuums the tables: the space can be used again, and what is
// at the end of a table goes back to the file system. Bytes of deleted rows may stay in free parts
// of pages until they are used again, in the log until it is recycled, and in backups. For one
// tenant it does nothing.
func (s *Store) Shrink(ctx context.Context) (freed int64, err error) {
	if s.tenant != nil {
		return 0, nil // the tables are everybody's, and vacuumed by the server
	}
	before, err := s.size(ctx)
	for _, table := range shrunk {
		if err == nil {
			err = s.db.Exec(ctx, `VACUUM (TRUNCATE true) `+table+anyTenant)
		}
	}
	var after int64
	if err == nil {
		after, err = s.size(ctx)
	}
	return max(0, before-after), s.failed("give space back", err)
}

func (s *Store) size(ctx context.Context) (int64, error) {
	return one(query(ctx, s, scanNumber, `SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
		WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'conversation'::regclass)`+anyTenant))
}
