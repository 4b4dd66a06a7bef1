package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
	"github.com/grapnel-go/grapnel/runtime/store/internal/search"
)

// indexBatch is how many messages one transaction indexes. Turns wait at most for one.
const indexBatch = 500

// Search implements store.Searcher. It first indexes the messages since the last search, so
// that turns need not index.
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Match, error) {
	words := search.Words(q.Text)
	if len(words) == 0 {
		return nil, s.failed("search", s.alive())
	}
	var out []store.Match
	err := s.db.FromIndex(ctx, func() error {
		err := s.index(ctx)
		if err == nil {
			out, err = s.match(ctx, q.Bounded(), words)
		}
		return err
	})
	return out, s.failed("search", err)
}

func (s *Store) alive() error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

const (
	unindexed = `SELECT num, indexed, messages, branches FROM conversation WHERE indexed < messages AND parent = '' LIMIT 100`
	// Archived messages have lower sequences than the others.
	newArchived = `SELECT seq, body FROM archive WHERE conversation = ?1 AND branch = 0 AND summary = 0 AND seq >= ?2 ORDER BY seq LIMIT ?3`
	newLive     = `SELECT m.num - (c.num << 32), m.body FROM conversation c JOIN message m
		ON m.num >= (c.num << 32) + max(?2, c.first + (c.archived > 0)) AND m.num < (c.num + 1) << 32 WHERE c.num = ?1
		ORDER BY m.num LIMIT ?3`
	markIndexed = `UPDATE conversation SET indexed = ? WHERE num = ? AND indexed = ? AND branches = ?`
	// A compaction takes messages back that are indexed already; see body.compact.
	insertWords = `INSERT OR REPLACE INTO word (rowid, user, tools, assistant, title, summary) VALUES (?, ?, ?, ?, ?, ?)`
	liveSummary = `SELECT m.body FROM conversation c JOIN message m ON m.num = (c.num << 32) + c.first WHERE c.num = ?1 AND c.archived > 0 AND c.first >= ?2`
	// Without the flush, the commit writes the words, and a damaged index fails all writers
	// that share the transaction.
	flushWords = `INSERT INTO word (word) VALUES ('flush')`
)

// summarySeq is the place of the summary in the index. Its own seq is that of an archived message.
const summarySeq = 1<<32 - 1

// batch is new messages of one conversation.
type batch struct {
	num, from, to, branches int64
	texts                   map[int64]search.Texts
}

// index indexes until there are no new messages. Of the summaries it indexes the present one.
func (s *Store) index(ctx context.Context) error {
	var last []batch
	for again := 0; ; {
		batches, err := s.unindexed(ctx)
		if err != nil || len(batches) == 0 {
			return err
		}
		if !slices.EqualFunc(batches, last, batch.same) {
			again = 0
		} else if again++; again == 3 {
			return errIndex
		}
		last = batches
		if err := s.db.Write(ctx, func(tx *sqlitedb.Tx) error { return writeIndex(tx, batches) }); err != nil {
			return err
		}
	}
}

// same reports whether the conversation has not changed between two rounds. Another process
// that rebuilds the index can cause this once, but not repeatedly.
func (b batch) same(o batch) bool {
	return b.num == o.num && b.from == o.from && b.branches == o.branches
}

// errIndex: a damaged file can have the same new messages for ever.
var errIndex = errors.New("the number of messages to index does not decrease: the file is damaged; copy it, and run PRAGMA integrity_check on the copy")

// unindexed reads a snapshot of the new messages.
func (s *Store) unindexed(ctx context.Context) (out []batch, err error) {
	tx, err := s.db.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	rows, err := tx.StmtContext(ctx, s.reads[unindexed]).QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	err = scanAll(rows, func() error {
		var b batch
		err := rows.Scan(&b.num, &b.from, &b.to, &b.branches)
		out = append(out, b)
		return err
	})
	left := indexBatch
	for i := range out {
		if err != nil || left == 0 {
			return out[:i], err
		}
		err = s.fill(ctx, tx, &out[i], &left)
	}
	return out, err
}

// fill reads the texts of a batch, up to left messages. A damaged message has no text.
func (s *Store) fill(ctx context.Context, tx *sql.Tx, b *batch, left *int) error {
	b.texts = map[int64]search.Texts{}
	if err := s.fillSummary(ctx, tx, b); err != nil {
		return err
	}
	for _, query := range []string{newArchived, newLive} {
		rows, err := tx.StmtContext(ctx, s.reads[query]).QueryContext(ctx, b.num, b.from, *left)
		if err != nil {
			return err
		}
		var seq int64
		if err := scanAll(rows, func() error {
			var body sql.RawBytes
			if err := rows.Scan(&seq, &body); err != nil {
				return err
			}
			*left--
			if m, err := codec.Decode(body); err == nil {
				t := search.Of(m)
				if seq == 0 {
					t = search.OfFirst(m)
				}
				if !t.IsZero() {
					b.texts[seq] = t
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if *left == 0 {
			b.to = seq + 1
			return nil
		}
	}
	return nil
}

// fillSummary reads the summary if it is newer than what is indexed.
func (s *Store) fillSummary(ctx context.Context, tx *sql.Tx, b *batch) error {
	var body sql.RawBytes
	rows, err := tx.StmtContext(ctx, s.reads[liveSummary]).QueryContext(ctx, b.num, b.from)
	if err != nil {
		return err
	}
	return scanAll(rows, func() error {
		if err := rows.Scan(&body); err != nil {
			return err
		}
		if m, err := codec.Decode(body); err == nil {
			b.texts[summarySeq] = search.OfSummary(m)
		}
		return nil
	})
}

// scanAll calls f for each row and closes them.
func scanAll(rows *sql.Rows, f func() error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := f(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// writeIndex skips a conversation that another process has indexed or rewound meanwhile:
// the next round looks at it again.
func writeIndex(tx *sqlitedb.Tx, batches []batch) error {
	for _, b := range batches {
		res, err := tx.Exec(markIndexed, b.to, b.num, b.from, b.branches)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return err
			}
			continue
		}
		for seq, t := range b.texts {
			if _, err := tx.Exec(insertWords, b.num<<32|seq, t.User, t.Tools, t.Assistant, t.Title, t.Summary); err != nil {
				return err
			}
		}
	}
	_, err := tx.Exec(flushWords)
	return err
}

// ownerOfProject is the owner of conversation c's project by its name, as package tenant reads it.
const (
	beforeRoot     = `substr(c.project, 1, instr(c.project, ':/') - 1)`
	ownerOfProject = `CASE WHEN c.project GLOB '[a-z0-9]*:/*' AND ` + beforeRoot + ` NOT GLOB '*[^a-z0-9._-]*' AND length(` + beforeRoot + `) <= 64 THEN ` + beforeRoot + ` ELSE '' END`
)

const (
	// The weights are those of package search.
	findWords = `SELECT word.rowid FROM word JOIN conversation c ON c.num = word.rowid >> 32
		WHERE word MATCH ?1 AND (?2 = '' OR c.agent = ?2) AND (?3 = '' OR c.sender = ?3) AND (c.project = ?5 OR ?4 AND ` + ownerOfProject + ` = ?8) AND c.id <> ?6
		ORDER BY bm25(word, 1.5, 1.3, 1.0, 2.0, 3.0), word.rowid DESC LIMIT ?7`
	byNumber   = `SELECT ` + columns + `, first, archived FROM conversation WHERE num = ?`
	archivedAt = `SELECT pos FROM archive WHERE conversation = ? AND seq = ? AND branch = 0 AND summary = 0`
	around     = `SELECT num - ?1, body FROM message WHERE num BETWEEN ?1 + max(0, ?2) AND ?1 + ?3 AND num < ((?1 >> 32) + 1) << 32 ORDER BY num`
	oldAround  = `SELECT pos, body FROM archive WHERE conversation = ?1 >> 32 AND branch = 0 AND pos BETWEEN ?2 AND ?3 ORDER BY pos`
)

// expression returns the FTS5 expression for any of the words. It quotes each, so that no
// query is a syntax error.
func expression(words []search.Word) string {
	terms := make([]string, len(words))
	for i, w := range words {
		terms[i] = `"` + w.Text + `"`
		if w.Prefix {
			terms[i] += "*"
		}
	}
	return strings.Join(terms, " OR ")
}

// match reads in one transaction, so that found messages do not move meanwhile.
func (s *Store) match(ctx context.Context, q store.Query, words []search.Word) (out []store.Match, err error) {
	tx, err := s.db.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	rows, err := tx.StmtContext(ctx, s.reads[findWords]).QueryContext(ctx, expression(words), q.Agent, q.Sender, q.AllProjects, q.Project, q.Except, q.Limit, tenant.Parse(q.Project).Owner)
	if err != nil {
		return nil, err
	}
	var nums []int64
	if err := scanAll(rows, func() error {
		var num int64
		err := rows.Scan(&num)
		nums = append(nums, num)
		return err
	}); err != nil {
		return nil, err
	}
	for _, num := range nums {
		m, err := s.show(ctx, tx, num, q, words)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (s *Store) show(ctx context.Context, tx *sql.Tx, num int64, q store.Query, words []search.Word) (m store.Match, err error) {
	var first, archived int64
	conversation, seq := num>>32, num&(1<<32-1)
	if m.Record, err = scan(tx.StmtContext(ctx, s.reads[byNumber]).QueryRowContext(ctx, conversation), &first, &archived); err != nil {
		return m, err
	}
	query, base, pos := around, conversation<<32|first, seq-first
	if m.Summary = seq == summarySeq; m.Summary {
		pos = 0
	} else if m.Archived = seq < first || seq == first && archived > 0; m.Archived {
		query, base = oldAround, conversation<<32
		if err := tx.StmtContext(ctx, s.reads[archivedAt]).QueryRowContext(ctx, conversation, seq).Scan(&pos); err != nil {
			return m, err
		}
	}
	m.Message = int(pos)
	rows, err := tx.StmtContext(ctx, s.reads[query]).QueryContext(ctx, base, pos-int64(q.Before), pos+int64(q.After))
	if err != nil {
		return m, err
	}
	return m, scanAll(rows, func() error {
		var at int
		var body sql.RawBytes
		if err := rows.Scan(&at, &body); err != nil {
			return err
		}
		msg, err := codec.Decode(body)
		if err != nil {
			return nil // Messages reports the damage
		}
		if at == m.Message {
			m.Role, m.Snippet = msg.Role, search.Snippet(msg, words)
			if m.Summary {
				m.Snippet = search.SummarySnippet(msg, words)
			}
		}
		m.Around = append(m.Around, store.Line{Message: at, Role: msg.Role, Text: search.Line(msg)})
		return nil
	})
}
