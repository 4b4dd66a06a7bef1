package memory

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

//go:embed schema/1.sql
var schema1 string

// fileID marks the files: "GRAm".
const fileID = 0x4752416d

// table is the SQL behind the tools.
type table struct {
	db  *sqlitedb.DB
	now func() time.Time
}

// entry is one memory.
type entry struct {
	name, content string
	aliases       []string
}

// key folds a name: blanks and case make no difference.
func key(name string) string { return strings.ToLower(tidy(name)) }

// tidy returns the name with single blanks.
func tidy(name string) string { return strings.Join(strings.Fields(name), " ") }

// put adds the entry, or replaces the one of the same name, and reports whether
// there was one.
func (t *table) put(ctx context.Context, space string, e entry) (replaced bool, err error) {
	err = t.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		replaced, err = t.putIn(tx, space, e)
		return err
	})
	return replaced, err
}

func (t *table) putIn(tx *sqlitedb.Tx, space string, e entry) (replaced bool, err error) {
	aliases, err := json.Marshal(e.aliases)
	if err != nil {
		return false, err
	}
	home, err := ensureSpace(tx, space)
	if err != nil {
		return false, err
	}
	now := t.now().UnixNano()
	var num int64
	err = tx.QueryRow(`INSERT INTO memory (num, space, key, name, aliases, content, created, updated)
		VALUES (coalesce((SELECT max(num) FROM memory WHERE num BETWEEN ? AND ?), ?) + 1, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (space, key) DO UPDATE SET name = excluded.name, aliases = excluded.aliases,
			content = excluded.content, updated = excluded.updated
		RETURNING num, EXISTS (SELECT 1 FROM word WHERE rowid = num)`,
		first(home), first(home+1)-1, first(home), home, key(e.name), e.name, string(aliases), e.content, now, now).Scan(&num, &replaced)
	if err != nil {
		return false, err
	}
	if replaced {
		if _, err := tx.Exec(`DELETE FROM word WHERE rowid = ?`, num); err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(`INSERT INTO word (rowid, name, aliases, content) VALUES (?, ?, ?, ?)`,
		num, e.name, strings.Join(e.aliases, "\n"), e.content)
	return replaced, err
}

func ensureSpace(tx *sqlitedb.Tx, space string) (num int64, err error) {
	_, err = tx.Exec(`INSERT INTO space (key) VALUES (?) ON CONFLICT (key) DO NOTHING`, space)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(`SELECT num FROM space WHERE key = ?`, space).Scan(&num)
	return num, err
}

// first is where the numbers of a space's memories begin.
func first(space int64) int64 { return space << 40 }

// find returns the entries that fit the query best, the best first. Without a
// word in the query they are the newest.
func (t *table) find(ctx context.Context, space, query string, limit int) ([]entry, error) {
	var num int64
	err := t.db.Read().QueryRowContext(ctx, `SELECT num FROM space WHERE key = ?`, space).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if m := match(query); m != "" {
		// A word in the name counts eight times, one in an alias four times.
		return t.entries(ctx, `SELECT name, content FROM (
				SELECT rowid AS found, bm25(word, 8, 4, 1) AS score FROM word
				WHERE word MATCH ? AND rowid BETWEEN ? AND ? ORDER BY score, found DESC LIMIT ?)
			JOIN memory ON num = found ORDER BY score, found DESC`, m, first(num), first(num+1)-1, limit)
	}
	return t.entries(ctx, `SELECT name, content FROM memory WHERE space = ? ORDER BY updated DESC, num DESC LIMIT ?`, num, limit)
}

func (t *table) entries(ctx context.Context, query string, args ...any) (out []entry, err error) {
	rows, err := t.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.name, &e.content); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// drop removes the entry of that name and reports whether there was one.
func (t *table) drop(ctx context.Context, space, name string) (found bool, err error) {
	err = t.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		found = false
		var num int64
		err := tx.QueryRow(`DELETE FROM memory WHERE key = ? AND
			space = (SELECT num FROM space WHERE key = ?) RETURNING num`, key(name), space).Scan(&num)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		_, err = tx.Exec(`DELETE FROM word WHERE rowid = ?`, num)
		return err
	})
	return found, err
}
