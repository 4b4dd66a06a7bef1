package schedule

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// Subject says what Erase deletes.
type Subject struct {
	// Conversations lose their places in schedules and runs; the schedules stay.
	Conversations []string
	// Sender is whose schedules are deleted, in all projects; "" is nobody.
	Sender string
	// Project is the project whose schedules are deleted, if AllOfProject is set.
	Project      string
	AllOfProject bool
}

const (
	eraseRunsOf      = `DELETE FROM run WHERE schedule IN (SELECT num FROM schedule WHERE ?1 <> '' AND sender = ?1 OR ?2 AND project = ?3)`
	eraseSchedules   = `DELETE FROM schedule WHERE ?1 <> '' AND sender = ?1 OR ?2 AND project = ?3`
	eraseFromRuns    = `UPDATE run SET conversation = '', turn = '', note = '' WHERE held = 0 AND conversation IN (SELECT value FROM json_each(?1))`
	eraseFromEntries = `UPDATE schedule SET conversation = '' WHERE conversation IN (SELECT value FROM json_each(?1))`
	countSchedules   = `SELECT count(*) FROM schedule WHERE ?1 <> '' AND sender = ?1 OR ?2 AND project = ?3`
	countEntries     = `SELECT count(*) FROM schedule WHERE conversation IN (SELECT value FROM json_each(?1))`
)

// Erase deletes schedules with their runs, and where the others name a deleted conversation. With
// dry it only counts. After it no file has a deleted prompt.
func (s *Schedule) Erase(ctx context.Context, what Subject, dry bool) (deleted, named int64, err error) {
	ids, err := json.Marshal(append([]string{}, what.Conversations...))
	if err != nil {
		return 0, 0, err
	}
	err = s.table.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		if err := tx.QueryRow(countSchedules, what.Sender, what.AllOfProject, what.Project).Scan(&deleted); err != nil {
			return err
		}
		if err := tx.QueryRow(countEntries, string(ids)).Scan(&named); err != nil || dry {
			return err
		}
		for _, query := range []string{eraseRunsOf, eraseSchedules} {
			if _, err := tx.Exec(query, what.Sender, what.AllOfProject, what.Project); err != nil {
				return err
			}
		}
		for _, query := range []string{eraseFromRuns, eraseFromEntries} {
			if _, err := tx.Exec(query, string(ids)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !dry {
		err = s.table.db.Scrub(ctx)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("delete schedules: %w", err)
	}
	return deleted, named, nil
}
