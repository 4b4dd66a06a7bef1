package schedule

import (
	"context"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// tables are all tables, each before those that refer to it.
var tables = []sqldb.Table{
	{Name: "schedule", Columns: sqldb.Columns("num project name agent sender prompt cron zone event:json late created due missed missed_last conversation"), Order: "num"},
	{Name: "run", Columns: sqldb.Columns("schedule key due began ended held status conversation turn note"), Order: "schedule, key"},
}

// Rows calls each with everything that is kept, of all projects, always in the same order. Nothing else
// may write meanwhile.
func (s *Schedule) Rows(ctx context.Context, each sqldb.Each) error {
	return sqldb.Rows(ctx, s.table.db, tables, each)
}

// Load fills the schedules of all projects with the rows of another Schedule, in one step. It may call
// from twice. sqldb.ErrNotEmpty if there are some.
func (s *Schedule) Load(ctx context.Context, from func(ctx context.Context, each sqldb.Each) error) error {
	return s.table.db.Write(ctx, func(tx sqldb.Tx) error { return sqldb.Load(ctx, tx, tables, from) })
}

// Damaged returns a sentence for each schedule with a part that cannot be read.
func (s *Schedule) Damaged(ctx context.Context) ([]string, error) {
	return sqldb.Damaged(ctx, s.table.db, tables)
}
