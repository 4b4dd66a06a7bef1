package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	updateAdopted = `UPDATE conversation SET project = ?, agent = ?, sender = ?, owner = ?, epoch = epoch + 1, until = 0
		WHERE id = ? AND parent = '' AND (until <= ? OR epoch = ?) RETURNING num`
	descendants = `WITH RECURSIVE descendant (num, id) AS (
		SELECT num, id FROM conversation WHERE id = ?1
		UNION SELECT c.num, c.id FROM conversation c JOIN descendant d ON c.parent = d.id AND c.parent <> '') `
	moveChildren = descendants + `UPDATE conversation SET project = ?2, owner = ?3, epoch = epoch + 1, until = 0
		WHERE num IN (SELECT num FROM descendant WHERE id <> ?1)`
	dropStates = descendants + `DELETE FROM state WHERE conversation IN (SELECT num FROM descendant)`
)

// Adopt implements store.Adopter.
func (s *Store) Adopt(ctx context.Context, id string, c store.Claim, key store.Key) (rec store.Record, err error) {
	if err := errors.Join(c.Check(), key.Check()); err != nil {
		return rec, s.failed("adopt "+id, err)
	}
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		rec, err = s.adopt(tx, id, c, key)
		return err
	})
	return rec, s.failed("adopt "+id, err)
}

func (s *Store) adopt(tx *sqlitedb.Tx, id string, c store.Claim, key store.Key) (store.Record, error) {
	old, err := scan(tx.QueryRow(byID, id))
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && old.Parent != "":
		return store.Record{}, unknown(id)
	case err != nil:
		return store.Record{}, err
	}
	if taken, err := scan(tx.QueryRow(byKey, key.Project, key.Agent, key.Sender)); err == nil {
		return store.Record{}, fmt.Errorf("%w: %s", store.ErrExists, taken.ID)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return store.Record{}, err
	}
	var num int64
	err = tx.QueryRow(updateAdopted, key.Project, key.Agent, key.Sender, c.Owner, id, s.now().UnixNano(), c.Takes).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Record{}, &store.LeasedError{Lease: old.Lease}
	}
	if err != nil {
		return store.Record{}, err
	}
	if err := all(tx, do(moveChildren, id, key.Project, c.Owner), do(dropStates, id)); err != nil {
		return store.Record{}, err
	}
	return scan(tx.QueryRow(byID, id))
}
