package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// hit is a memory that was found.
type hit struct {
	num           int64
	name, content string
	kind          Kind
	label         label
	conversation  string
	updated, used int64
	// score is lower for better ones, as that of BM25 is.
	score float64
}

// fields are the columns of a hit, but its score.
const fields = `m.num, m.name, m.content, m.kind, m.origin, m.trust, m.conversation, m.updated, m.used`

// search says what find looks for.
type search struct {
	query string
	limit int
	// kinds are those wanted; nil is all. strong leaves out what is from a page.
	kinds  []Kind
	strong bool
	// halfLife is the one of Section; 0 is never.
	halfLife time.Duration
}

// spare is how many more memories are read than wanted, because age changes their order.
const spare = 3

// maxMatches is how many of the best matches are looked at more closely.
const maxMatches = 500

// find returns the memories of the homes that match, the best first. For a query without words
// they are the newest.
func (t *table) find(ctx context.Context, homes []home, s search) ([]hit, error) {
	m, now := match(s.query), t.now()
	var out []hit
	for _, h := range homes {
		var num int64
		err := t.db.Read().QueryRowContext(ctx, spaceOf, h.project, h.key).Scan(&num)
		if isNone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := t.findIn(ctx, num, m, s)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	for i := range out {
		if m == "" {
			out[i].score = -float64(max(out[i].updated, out[i].used))
		} else {
			out[i].score *= freshness(&out[i], now, s.halfLife)
		}
	}
	slices.SortStableFunc(out, func(a, b hit) int { return cmp.Compare(a.score, b.score) })
	return out[:min(s.limit, len(out))], nil
}

// floor is what is left of the score of a memory however old it is, so that age alone hides
// nothing.
const floor = 0.25

// freshness is the part of its score that a memory keeps: all of it at first, less with each
// half-life since it was last written or used, and never less than floor.
func freshness(h *hit, now time.Time, halfLife time.Duration) float64 {
	age := now.Sub(time.Unix(0, max(h.updated, h.used)))
	if halfLife <= 0 || age <= 0 {
		return 1
	}
	return floor + (1-floor)*math.Exp2(-float64(age)/float64(halfLife))
}

func (t *table) findIn(ctx context.Context, space int64, match string, s search) (out []hit, err error) {
	kinds, err := json.Marshal(s.kinds)
	if err != nil {
		return nil, err
	}
	filter := ` (?1 = 'null' OR m.kind IN (SELECT value FROM json_each(?1))) AND (NOT ?2 OR m.origin != 'page')`
	if match == "" {
		return t.hits(ctx, `SELECT `+fields+`, 0 FROM memory m WHERE m.space = ?3 AND`+filter+` ORDER BY max(m.updated, m.used) DESC, m.num DESC LIMIT ?4`,
			string(kinds), s.strong, space, s.limit)
	}
	// A word in the name counts eight times, one in an alias four times.
	err = t.db.Indexed(ctx, func() (err error) {
		out, err = t.hits(ctx, `SELECT `+fields+`, f.score FROM (
				SELECT rowid AS found, bm25(word, 8, 4, 1) AS score FROM word WHERE word MATCH ?3 AND rowid BETWEEN ?4 AND ?5
				ORDER BY score, found DESC LIMIT ?7) f
			JOIN memory m ON m.num = f.found WHERE`+filter+` ORDER BY f.score, f.found DESC LIMIT ?6`,
			string(kinds), s.strong, match, first(space), first(space+1)-1, s.limit*spare, max(maxMatches, s.limit*spare))
		return err
	})
	return out, err
}

func (t *table) hits(ctx context.Context, query string, args ...any) (out []hit, err error) {
	rows, err := t.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h hit
		if err := rows.Scan(&h.num, &h.name, &h.content, &h.kind, &h.label.origin, &h.label.trust, &h.conversation, &h.updated, &h.used, &h.score); err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, rows.Err()
}

// get returns the memory of the name in the narrowest home that has one.
func (t *table) get(ctx context.Context, homes []home, name string) (hit, bool, error) {
	for _, h := range homes {
		found, err := t.hits(ctx, `SELECT `+fields+`, 0 FROM memory m JOIN space s ON s.num = m.space WHERE s.project = ? AND s.key = ? AND m.key = ?`,
			h.project, h.key, key(name))
		if err != nil || len(found) > 0 {
			return slices.Concat(found, []hit{{}})[0], len(found) > 0, err
		}
	}
	return hit{}, false, nil
}

// touch counts a use of the memories.
func (t *table) touch(ctx context.Context, nums []int64) error {
	text, err := json.Marshal(nums)
	if err != nil {
		return err
	}
	return t.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`UPDATE memory SET used = ?, uses = uses + 1 WHERE num IN (SELECT value FROM json_each(?))`, t.now().UnixNano(), string(text))
		return err
	})
}

// trustOf is the weakest label of the memories; that of none is trusted.
func trustOf(hits []hit) message.Trust {
	out := message.TrustTrusted
	for _, h := range hits {
		out = weaker(out, h.label.trust)
	}
	return out
}

// excerpt returns the beginning of the content, and how many characters are left out.
func excerpt(content string, limit int) (text string, left int) {
	runes := []rune(content)
	if len(runes) <= limit {
		return content, 0
	}
	return strings.TrimRight(string(runes[:limit]), " \n\t"), len(runes) - limit
}
