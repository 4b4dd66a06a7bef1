package schedule

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Subject says what Erase deletes.
type Subject struct {
	// Conversations lose their places in schedules and runs; the schedules stay.
	Conversations []string
	// Sender is whose schedules are deleted, in all projects that Within allows; "" is nobody.
	Sender string
	// Within chooses projects; nil is all.
	Within func(project string) bool
	// Project is the project whose schedules are deleted, if AllOfProject is set.
	Project      string
	AllOfProject bool
}

const (
	ofSubject      = `SELECT num, project FROM schedule WHERE $1 <> '' AND sender = $1 OR $2 AND project = $3`
	eraseRunsOf    = `DELETE FROM run WHERE schedule = $1`
	eraseSchedule  = `DELETE FROM schedule WHERE num = $1`
	placesOfRuns   = `SELECT schedule, key, conversation FROM run WHERE held = 0 AND conversation <> ''`
	eraseFromRun   = `UPDATE run SET conversation = '', turn = '', note = '' WHERE schedule = $1 AND key = $2`
	placesOfAll    = `SELECT num, '', conversation FROM schedule WHERE conversation <> ''`
	eraseFromEntry = `UPDATE schedule SET conversation = '' WHERE num = $1`
)

// Erase deletes schedules with their runs, and where the others name a deleted conversation. With
// dry it only counts. After it no file has a deleted prompt.
func (s *Schedule) Erase(ctx context.Context, what Subject, dry bool) (deleted, named int64, err error) {
	err = s.table.write(ctx, func(tx sqldb.Tx) error {
		nums, err := what.schedules(tx)
		if deleted = int64(len(nums)); err != nil {
			return err
		}
		entries, err := placed(tx, placesOfAll, what.Conversations)
		if named = int64(len(entries)); err != nil || dry {
			return err
		}
		for _, num := range nums {
			for _, query := range []string{eraseRunsOf, eraseSchedule} {
				if _, err := tx.Exec(query, num); err != nil {
					return err
				}
			}
		}
		runs, err := placed(tx, placesOfRuns, what.Conversations)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if _, err := tx.Exec(eraseFromRun, r.schedule, r.key); err != nil {
				return err
			}
		}
		for _, e := range entries {
			if _, err := tx.Exec(eraseFromEntry, e.schedule); err != nil {
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

// schedules returns the numbers of those that are deleted.
func (s Subject) schedules(tx sqldb.Tx) (nums []int64, err error) {
	err = tx.Each(func(row sqldb.Row) error {
		var num int64
		var project string
		err := row.Scan(&num, &project)
		if err == nil && (s.Within == nil || s.Within(project)) {
			nums = append(nums, num)
		}
		return err
	}, ofSubject, s.Sender, s.AllOfProject, s.Project)
	return nums, err
}

// placed returns the rows of the query that name one of the conversations.
func placed(tx sqldb.Tx, query string, conversations []string) (out []liveRun, err error) {
	err = tx.Each(func(row sqldb.Row) error {
		var r liveRun
		var conversation string
		err := row.Scan(&r.schedule, &r.key, &conversation)
		if err == nil && slices.Contains(conversations, conversation) {
			out = append(out, r)
		}
		return err
	}, query)
	return out, err
}
