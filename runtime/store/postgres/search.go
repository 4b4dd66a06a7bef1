package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
	"github.com/grapnel-go/grapnel/runtime/store/internal/search"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/index"
)

const (
	// searchWithin is how long each statement of a search may take.
	searchWithin = 5 * time.Second
	// maxCandidates is how many of the matching messages are scored: the newest.
	maxCandidates = 2000
	// maxCount bounds what is counted: beyond it a word is common, and an average is exact enough.
	maxCount = 10_000
)

// The owners of conversation c's project and of that of the query by their names, as package tenant reads them.
const (
	ownerForm      = `'^([a-z0-9][a-z0-9._-]{0,63}):/'`
	ownerOfProject = `coalesce(substring(encode(c.project, 'escape') from ` + ownerForm + `), '')`
	ownerOfQuery   = `coalesce(substring(encode($5::bytea, 'escape') from ` + ownerForm + `), '')`
)

const (
	// limitSearch is for all that follows in the transaction. A plan for any words of any tenant would be
	// a hundred times slower for some: each search has its own.
	limitSearch = `SELECT set_config('statement_timeout', $1, true), set_config('plan_cache_mode', 'force_custom_plan', true)` + anyTenant
	// inQuery: conversation c is one that is searched.
	inQuery = `($2::bytea = '' OR c.agent = $2) AND ($3::bytea = '' OR c.sender = $3) AND (c.project = $5::bytea OR $4::boolean AND ` + ownerOfProject + ` = ` + ownerOfQuery + `) AND c.id <> $6 AND {c.project}`
	// candidates are the newest messages with one of the words, and for each word how often its
	// label is in them.
	candidates = `SELECT w.conversation, w.seq, w.length, q.at, coalesce(array_to_string(x.weights, ''), '')
		FROM (SELECT w.conversation, w.seq, w.length, w.tsv FROM word w JOIN conversation c ON c.num = w.conversation
			WHERE w.tsv @@ $1::text::tsquery AND ` + inQuery + ` ORDER BY w.conversation DESC, w.seq DESC LIMIT $7) w,
			unnest($8::text[], $9::boolean[]) WITH ORDINALITY q (word, prefix, at),
			unnest(w.tsv) x (lexeme, positions, weights)
		WHERE x.lexeme = q.word OR q.prefix AND starts_with(x.lexeme, q.word)`
	// frequencies are how many messages have each word.
	frequencies = `SELECT (SELECT count(*) FROM (SELECT FROM word w WHERE w.tsv @@ q.expression::tsquery AND {of w.conversation} LIMIT $2) x)
		FROM unnest($1::text[]) WITH ORDINALITY q (expression, at) ORDER BY q.at`
	// size is how many messages there are, and their average length. It goes from conversation to
	// conversation, so that it reads no more than it counts.
	size = `SELECT greatest(count(*), CASE WHEN count(*) = $1 THEN (SELECT reltuples::bigint FROM pg_class WHERE oid = 'word'::regclass) END),
		coalesce(avg(x.length), 1)::float8 FROM (SELECT w.length FROM conversation c CROSS JOIN LATERAL (SELECT length FROM word WHERE conversation = c.num OFFSET 0) w WHERE {c.project} LIMIT $1) x`
	byNumber   = `SELECT ` + columns + `, c.first, c.archived FROM conversation c WHERE c.num = $2 AND {c.project}`
	archivedAt = `SELECT a.pos FROM archive a WHERE a.conversation = $1 AND a.seq = $2 AND a.branch = 0 AND NOT a.summary AND {of a.conversation}`
	around     = `SELECT m.seq - $2, m.body FROM message m WHERE m.conversation = $1 AND m.seq BETWEEN $2 + greatest(0, $3) AND $2 + $4 AND {of m.conversation} ORDER BY m.seq`
	oldAround  = `SELECT a.pos, a.body FROM archive a WHERE a.conversation = $1 AND a.branch = 0 AND a.pos BETWEEN $2 AND $3 AND {of a.conversation} ORDER BY a.pos`
)

// Search implements store.Searcher. Of many matching messages it scores the newest 2,000. A search that
// has to read too much fails. A third of the connections is for searches, and those of one tenant run one
// after the other.
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Match, error) {
	words := search.Words(q.Text)
	if len(words) == 0 {
		if s.closed.Load() {
			return nil, store.ErrClosed
		}
		return nil, nil
	}
	for _, lane := range s.lanes() {
		select {
		case lane <- struct{}{}:
			defer func() { <-lane }()
		case <-ctx.Done():
			return nil, s.failed("search", context.Cause(ctx))
		}
	}
	var out []store.Match
	err := s.db.Snapshot(ctx, func(tx pgdb.Queryer) error {
		if err := tx.QueryRow(ctx, limitSearch, strconv.FormatInt(searchWithin.Milliseconds(), 10)).Scan(nil, nil); err != nil {
			return err
		}
		hits, err := s.findHits(ctx, tx, q, words)
		if err != nil {
			return err
		}
		q := q.Bounded()
		out = nil
		for _, h := range hits[:min(q.Limit, len(hits))] {
			m, err := s.show(ctx, tx, h, q, words)
			if err != nil {
				return err
			}
			out = append(out, m)
		}
		return nil
	})
	if pgdb.Expired(err) {
		err = fmt.Errorf("it takes longer than %v: search for fewer or rarer words (%w)", searchWithin, err)
	}
	return out, s.failed("search", err)
}

// lanes are what a search needs a place in: that of its tenant, and that of all.
func (s *Store) lanes() []chan struct{} {
	if s.tenant != nil {
		return []chan struct{}{s.tenant.searching, s.searching}
	}
	return []chan struct{}{s.searching}
}

// findHits returns the messages with the words, the best first. Those of a project are looked for by the
// word of the project as well, and a tenant counts only its own.
func (s *Store) findHits(ctx context.Context, tx pgdb.Queryer, q store.Query, words []search.Word) ([]index.Hit, error) {
	var expressions, texts []string
	var prefixes []bool
	for _, w := range words {
		if e := index.Expression(w); e != "" {
			expressions, texts, prefixes = append(expressions, e), append(texts, index.Fold(w.Text)), append(prefixes, w.Prefix)
		}
	}
	if len(expressions) == 0 {
		return nil, nil
	}
	searched := strings.Join(expressions, " | ")
	switch {
	case s.tenant != nil:
		project := string(s.tenant.project)
		searched = index.Within(project, searched)
		for i, e := range expressions {
			expressions[i] = index.Within(project, e)
		}
	case !q.AllProjects:
		searched = index.Within(q.Project, searched)
	}
	hits, err := countWords(ctx, tx, len(expressions), searched, []byte(q.Agent), []byte(q.Sender), q.AllProjects, []byte(q.Project), q.Except, maxCandidates, texts, prefixes)
	if err != nil || len(hits) == 0 {
		return nil, err
	}
	with, err := rowsOf(ctx, tx, scanNumber, frequencies, expressions, maxCount)
	if err != nil {
		return nil, err
	}
	var total int64
	var average float64
	if err := tx.QueryRow(ctx, size, maxCount).Scan(&total, &average); err != nil {
		return nil, err
	}
	index.Sort(hits, with, float64(total), average)
	return hits, nil
}

// countWords reads the candidates. A message has a row for each of its words that the query has.
func countWords(ctx context.Context, tx pgdb.Queryer, n int, args ...any) ([]index.Hit, error) {
	type place struct{ conversation, seq int64 }
	at := map[place]int{}
	var hits []index.Hit
	_, err := rowsOf(ctx, tx, func(row pgdb.Row) (struct{}, error) {
		var h index.Hit
		var word int
		var labels string
		if err := row.Scan(&h.Conversation, &h.Seq, &h.Length, &word, &labels); err != nil {
			return struct{}{}, err
		}
		p := place{h.Conversation, h.Seq}
		i, known := at[p]
		if !known {
			i, at[p] = len(hits), len(hits)
			h.Counts = make([]float64, n)
			hits = append(hits, h)
		}
		hits[i].Counts[word-1] += index.Weigh(labels, h.Seq == index.SummarySeq)
		return struct{}{}, nil
	}, candidates, args...)
	return hits, err
}

// show reads the conversation of a hit and the messages around it.
func (s *Store) show(ctx context.Context, tx pgdb.Queryer, h index.Hit, q store.Query, words []search.Word) (m store.Match, err error) {
	var first, archived int64
	if m.Record, err = scan(tx.QueryRow(ctx, byNumber, s.clock(), h.Conversation), &first, &archived); err != nil {
		return m, err
	}
	sql, pos := around, h.Seq-first
	if m.Summary = h.Seq == index.SummarySeq; m.Summary {
		pos = 0
	} else if m.Archived = h.Seq < first || h.Seq == first && archived > 0; m.Archived {
		sql = oldAround
		if err := tx.QueryRow(ctx, archivedAt, h.Conversation, h.Seq).Scan(&pos); err != nil {
			return m, err
		}
	}
	m.Message = int(pos)
	args := []any{h.Conversation, pos - int64(q.Before), pos + int64(q.After)}
	if !m.Archived {
		args = slices.Insert(args, 1, any(first))
	}
	_, err = rowsOf(ctx, tx, func(row pgdb.Row) (struct{}, error) {
		var at int
		var body []byte
		if err := row.Scan(&at, &body); err != nil {
			return struct{}{}, err
		}
		msg, err := codec.Decode(body)
		if err != nil {
			return struct{}{}, nil //nolint:nilerr // Messages reports the damage
		}
		if at == m.Message {
			m.Role, m.Snippet = msg.Role, search.Snippet(msg, words)
			if m.Summary {
				m.Snippet = search.SummarySnippet(msg, words)
			}
		}
		m.Around = append(m.Around, store.Line{Message: at, Role: msg.Role, Text: search.Line(msg)})
		return struct{}{}, nil
	}, sql, args...)
	return m, err
}
