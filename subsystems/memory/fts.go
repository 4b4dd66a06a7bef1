package memory

import (
	"context"
	_ "embed" // the schema
	"encoding/json"
	"strings"

	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

//go:embed schema/1.sql
var schema1 string

//go:embed schema/2.sql
var schema2 string

//go:embed schema/3.sql
var schema3 string

//go:embed schema/4.sql
var schema4 string

//go:embed schema/5.sql
var schema5 string

//go:embed schema/index.sql
var makeIndex string

// fileID marks the files: "GRAm".
const fileID = 0x4752416d

// openFile opens the SQLite file.
func openFile(ctx context.Context, path string, note func(string)) (*sqlitedb.DB, error) {
	return sqlitedb.Open(ctx, path, sqlitedb.Schema{
		Name: "memory file", ID: fileID, Steps: []string{schema1, schema2, schema3, schema4, schema5}, Secure: true, Vacuum: 3,
		Index: sqlitedb.Index{Name: "word", Create: makeIndex, From: []string{"memory"}}, Note: note,
	})
}

// fts is the word index of a file: SQLite's own, which ranks by BM25 over all memories of the file.
type fts struct {
	file *sqlitedb.DB
	db   sqldb.DB // of the file
}

var _ wordIndex = fts{}

func (x fts) write(ctx context.Context, f func(tx sqldb.Tx) error) error {
	return x.file.Indexed(ctx, func() error {
		return x.db.Write(ctx, func(tx sqldb.Tx) error {
			err := f(tx)
			if err == nil {
				// Without the flush, the commit writes the words, and a damaged index fails all
				// writers that share the transaction.
				_, err = tx.Exec(`INSERT INTO word (word) VALUES ('flush')` + sqldb.AnyTenant)
			}
			return err
		})
	})
}

func (fts) add(tx sqldb.Tx, r row) error {
	name, aliases, content, err := r.texts()
	if err == nil {
		_, err = tx.Exec(`INSERT INTO word (rowid, name, aliases, content) SELECT $3, $4, $5, $6 WHERE`+ofSpace,
			r.space().num, r.project, r.num, name, aliases, content)
	}
	return err
}

func (fts) remove(tx sqldb.Tx, r row) error {
	name, aliases, content, err := r.texts()
	if err == nil {
		_, err = tx.Exec(`INSERT INTO word (word, rowid, name, aliases, content) SELECT 'delete', $3, $4, $5, $6 WHERE`+ofSpace,
			r.space().num, r.project, r.num, name, aliases, content)
	}
	return err
}

func (fts) twins(tx sqldb.Tx, in space, words []term) (nums []int64, err error) {
	var found string
	err = tx.One(`SELECT json_group_array(rowid) FROM (
			SELECT rowid FROM word WHERE word MATCH $3 AND rowid BETWEEN $4 AND $5 AND`+ofSpace+` ORDER BY bm25(word, 0, 0, 1), rowid LIMIT $6)`,
		in.num, in.project, expression(words), in.first(), in.last(), maxTwins).Scan(&found)
	if err == nil {
		err = json.Unmarshal([]byte(found), &nums)
	}
	return nums, err
}

func (x fts) find(ctx context.Context, r sqldb.Reader, in space, words []term, s search) (out []hit, err error) {
	err = x.file.Indexed(ctx, func() (err error) {
		out, err = hits(r, `SELECT `+fields+`, f.score FROM (
				SELECT rowid AS found, bm25(word, $10, $11, $12) AS score FROM word WHERE word MATCH $5 AND rowid BETWEEN $6 AND $7 AND`+ofSpace+`
				ORDER BY score, found DESC LIMIT $9) f
			JOIN memory m ON m.num = f.found WHERE`+filter+` ORDER BY f.score, f.found DESC LIMIT $8`,
			in.num, in.project, s.kind, s.strong, expression(words), in.first(), in.last(), s.limit*spare, max(maxMatches, s.limit*spare), nameWeight, aliasWeight, contentWeight)
		return err
	})
	return out, err
}

// expression returns the FTS5 expression that finds memories with any of the words. Words are quoted, so
// that no query is a syntax error.
func expression(words []term) string {
	phrases := make([]string, len(words))
	for i, t := range words {
		if phrases[i] = `"` + t.word + `"`; t.prefix {
			phrases[i] += "*"
		}
	}
	return strings.Join(phrases, " OR ")
}
