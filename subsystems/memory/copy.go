package memory

import (
	"context"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// tables are all tables but the index of words, which each database makes itself.
var tables = []sqldb.Table{
	{Name: "space", Columns: sqldb.Columns("num project key"), Order: "num"},
	{Name: "memory", Columns: sqldb.Columns("num space key name aliases:json content conversation created updated kind origin trust confidence:real sources:json used uses"), Order: "num"},
	{Name: "candidate", Columns: sqldb.Columns("num space key name aliases:json content kind origin trust confidence:real sources:json created"), Order: "num"},
	{Name: "extracted", Columns: sqldb.Columns("turn at"), Order: "turn"},
}

// Rows calls each with everything that is kept, of all projects, always in the same order. Nothing else
// may write meanwhile.
func (m *Memory) Rows(ctx context.Context, each sqldb.Each) error {
	return sqldb.Rows(ctx, m.table.db, tables, each)
}

// Load fills the memories of all projects with the rows of another Memory, in one step, and makes the
// index of words. It may call from twice. sqldb.ErrNotEmpty if there are some.
func (m *Memory) Load(ctx context.Context, from func(ctx context.Context, each sqldb.Each) error) error {
	return m.table.words.write(ctx, func(tx sqldb.Tx) error {
		if err := sqldb.Load(ctx, tx, tables, from); err != nil {
			return err
		}
		all, err := indexRows(tx)
		if err != nil {
			return err
		}
		for _, r := range all {
			if err := m.table.words.add(tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// indexRows returns the memories with what the index has of them.
func indexRows(tx sqldb.Reader) (all []row, err error) {
	err = tx.Each(func(found sqldb.Row) error {
		var r row
		err := found.Scan(&r.num, &r.project, &r.name, &r.aliases, &r.content)
		all = append(all, r)
		return err
	}, `SELECT m.num, s.project, m.name, m.aliases, m.content FROM memory m JOIN space s ON s.num = m.space ORDER BY m.num`+sqldb.AnyTenant)
	return all, err
}

// Damaged returns a sentence for each memory with a part that cannot be read.
func (m *Memory) Damaged(ctx context.Context) ([]string, error) {
	return sqldb.Damaged(ctx, m.table.db, tables)
}
