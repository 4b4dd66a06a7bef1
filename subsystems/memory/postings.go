package memory

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// postings is the word index of a PostgreSQL database: a table with a row for each word of each
// memory. PostgreSQL's own ranking knows no rare words, so Go ranks, by BM25 as SQLite does, over the
// memories of one space.
type postings struct{ db sqldb.DB }

var _ wordIndex = postings{}

func (p postings) write(ctx context.Context, f func(tx sqldb.Tx) error) error {
	return p.db.Write(ctx, f)
}

// posting is how often a memory has a word, by field.
type posting struct{ name, aliases, content int }

func (postings) add(tx sqldb.Tx, r row) error {
	all, err := r.postings()
	if err != nil {
		return err
	}
	total := 0
	words := slices.Sorted(maps.Keys(all))
	names, aliases, contents := make([]int, len(words)), make([]int, len(words)), make([]int, len(words))
	for i, word := range words {
		p := all[word]
		names[i], aliases[i], contents[i] = p.name, p.aliases, p.content
		total += p.name + p.aliases + p.content
	}
	_, err = tx.Exec(`INSERT INTO memory_word (space, word, memory, name, aliases, content)
		SELECT $1, w.word, $3, w.name, w.aliases, w.content FROM unnest($4::text[], $5::int[], $6::int[], $7::int[]) AS w (word, name, aliases, content) WHERE`+ofSpace,
		r.space().num, r.project, r.num, words, names, aliases, contents)
	if err == nil {
		_, err = tx.Exec(`UPDATE memory SET words = $4 WHERE num = $3 AND space = $1 AND`+ofSpace, r.space().num, r.project, r.num, total)
	}
	return err
}

func (postings) remove(tx sqldb.Tx, r row) error {
	all, err := r.postings()
	if err == nil {
		_, err = tx.Exec(`DELETE FROM memory_word WHERE space = $1 AND memory = $3 AND word = ANY ($4::text[]) AND`+ofSpace,
			r.space().num, r.project, r.num, slices.Collect(maps.Keys(all)))
	}
	return err
}

// postings returns the words of the memory, as the index has them.
func (r row) postings() (map[string]posting, error) {
	name, aliases, content, err := r.texts()
	if err != nil {
		return nil, err
	}
	out := map[string]posting{}
	for i, text := range [...]string{name, aliases, content} {
		for _, word := range indexed(text) {
			p := out[word]
			*[...]*int{&p.name, &p.aliases, &p.content}[i]++
			out[word] = p
		}
	}
	return out, nil
}

// maxWord bounds a word of the index, in bytes: longer ones are found by their beginning.
const maxWord = 200

// indexed returns the words of a text in lower case and without diacritics, as SQLite's tokenizer does.
func indexed(text string) (out []string) {
	for rest := text; ; {
		word, tail := nextWord(rest)
		if word == "" {
			return out
		}
		rest = tail
		if word = folded(word); word != "" {
			out = append(out, word)
		}
	}
}

func folded(word string) string {
	word = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(word))
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "")
	}
	return word
}

// match is a memory with words of a query.
type match struct {
	num int64
	// words counts all words of the memory, and has those of the query, by their place in it.
	words int
	has   map[int]posting
}

// matches returns the memories of the space with some of the words.
func matches(from sqldb.Reader, in space, words []term) (map[int64]*match, error) {
	low, high := make([]string, len(words)), make([]string, len(words))
	for i, t := range words {
		low[i] = folded(t.word)
		if high[i] = low[i]; t.prefix {
			high[i] += string(unicode.MaxRune)
		}
	}
	found := map[int64]*match{}
	err := from.Each(func(row sqldb.Row) error {
		var place int
		var p posting
		m := match{has: map[int]posting{}}
		if err := row.Scan(&place, &m.num, &p.name, &p.aliases, &p.content, &m.words); err != nil {
			return err
		}
		if found[m.num] == nil {
			found[m.num] = &m
		}
		was := found[m.num].has[place] // a prefix has several words
		found[m.num].has[place] = posting{was.name + p.name, was.aliases + p.aliases, was.content + p.content}
		return nil
	}, `SELECT t.place - 1, w.memory, w.name, w.aliases, w.content, m.words
		FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS t (low, high, place)
		JOIN memory_word w ON w.space = $1 AND w.word BETWEEN t.low AND t.high JOIN memory m ON m.num = w.memory WHERE`+ofSpace, in.num, in.project, low, high)
	return found, err
}

// scored is the score of a memory; a lower one is better.
type scored struct {
	num   int64
	score float64
}

// The constants of BM25, as SQLite has them: how soon a word that is repeated counts no more, how much
// a long text counts less, and what a word is worth that nearly all memories have.
const (
	saturation = 1.2
	lengthPart = 0.75
	commonWord = 1e-6
)

// rank returns the memories of the space with some of the words and their scores, in the order of their numbers.
func rank(from sqldb.Reader, in space, words []term, w posting) ([]scored, error) {
	var all, average float64
	err := from.One(`SELECT count(*)::float8, coalesce(avg(words), 0)::float8 FROM memory WHERE space = $1 AND`+ofSpace, in.num, in.project).Scan(&all, &average)
	if err != nil {
		return nil, err
	}
	found, err := matches(from, in, words)
	if err != nil {
		return nil, err
	}
	worth := make([]float64, len(words))
	for i := range words {
		n := 0.0
		for _, m := range found {
			if _, has := m.has[i]; has {
				n++
			}
		}
		if worth[i] = math.Log((all - n + 0.5) / (n + 0.5)); worth[i] <= 0 {
			worth[i] = commonWord
		}
	}
	out := make([]scored, 0, len(found))
	for _, num := range slices.Sorted(maps.Keys(found)) {
		m, score := found[num], 0.0
		for i := range words {
			p := m.has[i]
			often := float64(w.name*p.name + w.aliases*p.aliases + w.content*p.content)
			score -= worth[i] * often * (saturation + 1) / (often + saturation*(1-lengthPart+lengthPart*float64(m.words)/average))
		}
		out = append(out, scored{num, score})
	}
	return out, nil
}

func (postings) twins(tx sqldb.Tx, in space, words []term) ([]int64, error) {
	ranked, err := rank(tx, in, words, posting{content: 1})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var nums []int64
	for _, r := range ranked[:min(maxTwins, len(ranked))] {
		nums = append(nums, r.num)
	}
	return nums, nil
}

func (postings) find(_ context.Context, from sqldb.Reader, in space, words []term, s search) ([]hit, error) {
	ranked, err := rank(from, in, words, posting{nameWeight, aliasWeight, contentWeight})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ranked, func(a, b scored) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(b.num, a.num)) })
	ranked = ranked[:min(len(ranked), max(maxMatches, s.limit*spare))]
	nums, place := make([]int64, len(ranked)), map[int64]int{}
	for i, r := range ranked {
		nums[i], place[r.num] = r.num, i
	}
	found, err := hits(from, `SELECT `+fields+`, `+noScore+` FROM memory m WHERE m.num = ANY ($5::bigint[]) AND m.space = $1 AND`+ofSpace+` AND`+filter, in.num, in.project, s.kind, s.strong, nums)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].score = ranked[place[found[i].num]].score
	}
	slices.SortFunc(found, func(a, b hit) int { return cmp.Compare(place[a.num], place[b.num]) })
	return found[:min(len(found), s.limit*spare)], nil
}
