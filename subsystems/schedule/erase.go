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
	ofSender       = `SELECT num, project, '', '' FROM schedule WHERE sender = $1` + sqldb.AnyTenant
	ofWhole        = `SELECT num, project, '', '' FROM schedule WHERE project = $1`
	placesOfRuns   = `SELECT s.num, s.project, r.key, r.conversation FROM run r JOIN schedule s ON s.num = r.schedule WHERE r.held = 0 AND r.conversation <> ''` + sqldb.AnyTenant
	placesOfAll    = `SELECT num, project, '', conversation FROM schedule WHERE conversation <> ''` + sqldb.AnyTenant
	eraseRunsOf    = `DELETE FROM run WHERE schedule = $1 AND` + ofProject
	eraseSchedule  = `DELETE FROM schedule WHERE num = $1 AND project = $2`
	eraseFromRun   = `UPDATE run SET conversation = '', turn = '', note = '' WHERE schedule = $1 AND` + ofProject + ` AND key = $3`
	eraseFromEntry = `UPDATE schedule SET conversation = '' WHERE num = $1 AND project = $2`
)

// Erase deletes schedules with their runs, and where the others name a deleted conversation. With
// dry it only counts. After it no file has a deleted prompt.
func (s *Schedule) Erase(ctx context.Context, what Subject, dry bool) (deleted, named int64, err error) {
	err = s.table.write(ctx, func(tx sqldb.Tx) error {
		schedules, err := what.schedules(tx)
		if deleted = int64(len(schedules)); err != nil {
			return err
		}
		entries, err := placed(tx, placesOfAll, what.Conversations)
		if named = int64(len(entries)); err != nil || dry {
			return err
		}
		for _, one := range schedules {
			for _, query := range []string{eraseRunsOf, eraseSchedule} {
				if _, err := tx.Exec(query, one.schedule, one.project); err != nil {
					return err
				}
			}
		}
		runs, err := placed(tx, placesOfRuns, what.Conversations)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if _, err := tx.Exec(eraseFromRun, r.schedule, r.project, r.key); err != nil {
				return err
			}
		}
		for _, e := range entries {
			if _, err := tx.Exec(eraseFromEntry, e.schedule, e.project); err != nil {
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

// place is a schedule, or with a key one of its runs, and the conversation that it names.
type place struct {
	schedule                   int64
	project, key, conversation string
}

// schedules returns those that are deleted.
func (s Subject) schedules(tx sqldb.Tx) (out []place, err error) {
	within := func(p place) bool { return s.Within == nil || s.Within(p.project) }
	if s.Sender != "" {
		out, err = places(tx, within, ofSender, s.Sender)
	}
	if err == nil && s.AllOfProject {
		var whole []place
		whole, err = places(tx, func(p place) bool { return within(p) && !slices.Contains(out, p) }, ofWhole, s.Project)
		out = append(out, whole...)
	}
	return out, err
}

// placed returns the rows of the query that name one of the conversations.
func placed(tx sqldb.Tx, query string, conversations []string) ([]place, error) {
	return places(tx, func(p place) bool { return slices.Contains(conversations, p.conversation) }, query)
}

// places returns the rows of the query that want accepts.
func places(tx sqldb.Tx, want func(place) bool, query string, args ...any) (out []place, err error) {
	err = tx.Each(func(row sqldb.Row) error {
		var p place
		err := row.Scan(&p.schedule, &p.project, &p.key, &p.conversation)
		if err == nil && want(p) {
			out = append(out, p)
		}
		return err
	}, query, args...)
	return out, err
}
