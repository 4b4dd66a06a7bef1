package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/index"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

// adoptWords gives the words of the conversation to its new project.
var adoptWords = `UPDATE word w SET tsv = ts_delete(w.tsv, tsvector_to_array(` + index.Owner("$2::bytea") + `)) || ` + index.Owner("c.project") + `
	FROM conversation c WHERE c.num = $1 AND w.conversation = $1 AND {c.project}`

const (
	adopt = `UPDATE conversation c SET project = $3, agent = $4, sender = $5, owner = $6, epoch = c.epoch + 1, until = 0
		WHERE c.id = $2 AND c.parent = '' AND {c.project} AND {$3::bytea} AND (c.until <= ` + statement.Now + ` OR c.epoch = $7 OR ` + statement.Orphaned + `) RETURNING c.num`
	adoptChildren = `UPDATE conversation SET project = $2, owner = $3, epoch = epoch + 1, until = 0 WHERE num = ANY ($1::bigint[]) AND {project} AND {$2::bytea}`
	dropStates    = `DELETE FROM state s WHERE s.conversation = ANY ($1::bigint[]) AND {of s.conversation}`
)

// Adopt implements store.Adopter.
func (s *Store) Adopt(ctx context.Context, id string, c store.Claim, key store.Key) (rec store.Record, err error) {
	if err := errors.Join(c.Check(), key.Check()); err != nil {
		return rec, s.failed("adopt "+id, err)
	}
	err = s.db.Write(ctx, func(tx pgdb.Tx) error {
		rec, err = s.adopt(ctx, tx, id, c, key)
		return err
	})
	if pgdb.Exists(err) { // made since the transaction looked
		err = fmt.Errorf("%w: of %q with %q", store.ErrExists, key.Agent, key.Sender)
	}
	if err == nil {
		s.changed.add(id)
	}
	return rec, s.failed("adopt "+id, err)
}

func (s *Store) adopt(ctx context.Context, tx pgdb.Tx, id string, c store.Claim, key store.Key) (store.Record, error) {
	tree, err := lockTree(ctx, tx, s.clock(), id)
	if err != nil {
		return store.Record{}, err
	}
	taken, err := rowsOf(ctx, tx, scanRecord, byKey, s.clock(), []byte(key.Project), []byte(key.Agent), []byte(key.Sender))
	switch {
	case err != nil:
		return store.Record{}, err
	case len(taken) > 0:
		return store.Record{}, fmt.Errorf("%w: %s", store.ErrExists, taken[0].ID)
	}
	moved, err := rowsOf(ctx, tx, scanNumber, adopt, s.clock(), id, []byte(key.Project), []byte(key.Agent), []byte(key.Sender), c.Owner, c.Takes)
	switch {
	case err != nil:
		return store.Record{}, err
	case len(moved) == 0:
		return store.Record{}, &store.LeasedError{Lease: tree[0].Lease}
	}
	nums := numbers(tree)
	if err := all(ctx, tx, do(adoptChildren, nums[1:], []byte(key.Project), c.Owner), do(dropStates, nums), do(adoptWords, nums[0], []byte(tree[0].Key.Project))); err != nil {
		return store.Record{}, err
	}
	return one(rowsOf(ctx, tx, scanRecord, byID, s.clock(), id))
}

// locked is a conversation that the transaction has locked.
type locked struct {
	store.Record
	num int64
}

func scanLocked(row pgdb.Row) (l locked, err error) {
	l.Record, err = scan(row, &l.num)
	return l, err
}

const (
	lockRoot     = `SELECT ` + columns + `, c.num FROM conversation c WHERE c.id = $2 AND c.parent = '' AND {c.project} FOR UPDATE`
	lockChildren = `SELECT ` + columns + `, c.num FROM conversation c WHERE c.parent = ANY ($2::text[]) AND c.parent <> '' AND {c.project} ORDER BY c.num FOR UPDATE`
)

// lockTree locks the conversation and all below it, from the top: nobody makes a child of one that
// is locked. ErrUnknown, also for a child.
func lockTree(ctx context.Context, tx pgdb.Tx, clock *int64, id string) ([]locked, error) {
	level, err := rowsOf(ctx, tx, scanLocked, lockRoot, clock, id)
	if err == nil && len(level) == 0 {
		err = unknown(id)
	}
	var tree []locked
	for err == nil && len(level) > 0 {
		tree = append(tree, level...)
		ids := make([]string, len(level))
		for i, l := range level {
			ids[i] = l.ID
		}
		level, err = rowsOf(ctx, tx, scanLocked, lockChildren, clock, ids)
	}
	return tree, err
}

func numbers(tree []locked) []int64 {
	out := make([]int64, len(tree))
	for i, l := range tree {
		out[i] = l.num
	}
	return out
}
