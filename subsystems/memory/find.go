package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqldb"
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
	// kind is the one wanted; "" is all. strong leaves out what is from a page.
	kind   Kind
	strong bool
	// halfLife is the one of Section; 0 is never.
	halfLife time.Duration
}

// spare is how many more memories are read than wanted, because age changes their order.
const spare = 3

// maxMatches is how many of the best matches are looked at more closely.
const maxMatches = 500

// A word in the name counts eight times, one in an alias four times.
const (
	nameWeight    = 8
	aliasWeight   = 4
	contentWeight = 1
)

// wordIndex finds memories by their words. Each database has an index of its own kind.
type wordIndex interface {
	// write runs f in a transaction, in which f may change memories and the index.
	write(ctx context.Context, f func(tx sqldb.Tx) error) error
	add(tx sqldb.Tx, r row) error
	// remove takes a memory out of the index by the texts that are in it: call it before they change.
	remove(tx sqldb.Tx, r row) error
	// twins returns maxTwins memories of the space whose contents have some of the words, the best first.
	twins(tx sqldb.Tx, in space, words []term) ([]int64, error)
	// find returns memories of the space with some of the words, the best first: spare times as many as
	// the search wants, with their scores.
	find(ctx context.Context, r sqldb.Reader, in space, words []term, s search) ([]hit, error)
}

// find returns the memories of the homes that match, the best first. For a query without words
// they are the newest.
func (t *table) find(ctx context.Context, homes []home, s search) ([]hit, error) {
	return t.findEach(ctx, homes, s)
}

// findEach returns what each of the searches finds, one after the other.
func (t *table) findEach(ctx context.Context, homes []home, searches ...search) (all []hit, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		all = nil
		var spaces []space
		for _, h := range homes {
			in, err := spaceIn(r, h)
			if isNone(err) {
				continue
			}
			if err != nil {
				return err
			}
			spaces = append(spaces, in)
		}
		for _, s := range searches {
			found, err := t.findIn(ctx, r, spaces, s)
			if err != nil {
				return err
			}
			all = append(all, found...)
		}
		return nil
	})
	return all, err
}

// findIn returns the memories of the spaces that match, the best first.
func (t *table) findIn(ctx context.Context, r sqldb.Reader, spaces []space, s search) (out []hit, err error) {
	if len(spaces) == 0 {
		return nil, nil
	}
	words, now := wanted(s.query), t.now()
	for _, in := range spaces {
		var found []hit
		if len(words) > 0 {
			found, err = t.words.find(ctx, r, in, words, s)
		} else {
			found, err = newest(r, in, s)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	for i := range out {
		if len(words) == 0 {
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

// filter selects the memories of search.kind ($3) and search.strong ($4).
const filter = ` ($3 = '' OR m.kind = $3) AND (NOT $4 OR m.origin <> 'page')`

func newest(r sqldb.Reader, in space, s search) ([]hit, error) {
	return hits(r, `SELECT `+fields+`, `+noScore+` FROM memory m WHERE m.space = $1 AND`+ofSpace+` AND`+filter+`
		ORDER BY CASE WHEN m.used > m.updated THEN m.used ELSE m.updated END DESC, m.num DESC LIMIT $5`, in.num, in.project, s.kind, s.strong, s.limit)
}

// noScore is the score of what was not searched for.
const noScore = `CAST(0 AS double precision)`

func hits(r sqldb.Reader, query string, args ...any) (out []hit, err error) {
	err = r.Each(func(row sqldb.Row) error {
		var h hit
		err := row.Scan(&h.num, &h.name, &h.content, &h.kind, &h.label.origin, &h.label.trust, &h.conversation, &h.updated, &h.used, &h.score)
		out = append(out, h)
		return err
	}, query, args...)
	return out, err
}

// get returns the memory of the name in the narrowest home that has one.
func (t *table) get(ctx context.Context, homes []home, name string) (found hit, ok bool, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		for _, h := range homes {
			all, err := hits(r, `SELECT `+fields+`, `+noScore+` FROM memory m JOIN space s ON s.num = m.space WHERE s.project = $1 AND s.key = $2 AND m.key = $3`,
				h.project, h.key, key(name))
			if err != nil {
				return err
			}
			if len(all) > 0 {
				found, ok = all[0], true
				return nil
			}
		}
		return nil
	})
	return found, ok, err
}

// touch counts a use of the memories, which the tenant has.
func (t *table) touch(ctx context.Context, nums []int64) error {
	nums, now := slices.Sorted(slices.Values(nums)), t.now().UnixNano() // one order, so that no two processes wait for each other
	return t.db.Write(ctx, func(tx sqldb.Tx) error {
		for _, num := range nums {
			if _, err := tx.Exec(`UPDATE memory SET used = $3, uses = uses + 1 WHERE num = $4 AND space IN (SELECT s.num FROM space s WHERE`+ofTenant+`)`, t.project, t.user, now, num); err != nil {
				return err
			}
		}
		return nil
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
