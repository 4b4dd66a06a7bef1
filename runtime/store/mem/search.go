package mem

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/search"
)

// hit is a message in which a word was found.
type hit struct {
	c *conversation
	// number of the conversation, for the order.
	number, message int
	archived        bool
	summary         bool
	around          []message.Message
	// counts is how often each word is in it, weighted.
	counts []float64
	length float64
	score  float64
}

// Search implements store.Searcher. It reads every message: there is no index.
func (s *Store) Search(_ context.Context, q store.Query) ([]store.Match, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	words := search.Words(q.Text)
	if len(words) == 0 {
		return nil, nil
	}
	q = q.Bounded()
	hits := s.rankLocked(words)
	hits = slices.DeleteFunc(hits, func(h hit) bool {
		k := h.c.record.Key
		return q.Project != k.Project && !(q.AllProjects && tenant.Parse(q.Project).Owner == tenant.Parse(k.Project).Owner) || q.Agent != "" && q.Agent != k.Agent || q.Sender != "" && q.Sender != k.Sender ||
			q.Except != "" && q.Except == h.c.record.ID
	})
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.number-a.number, cmp.Compare(place(b), place(a)))
	})
	var out []store.Match
	for _, h := range hits[:min(q.Limit, len(hits))] {
		out = append(out, h.match(q, words))
	}
	return out, nil
}

// place orders the messages of a conversation, archived ones first, the summary last.
func place(h hit) int {
	switch {
	case h.archived:
		return h.message - math.MaxInt32
	case h.summary:
		return math.MaxInt32
	}
	return h.message
}

// rankLocked returns all messages with one of the words, with their scores.
func (s *Store) rankLocked(words []search.Word) []hit {
	var hits []hit
	total, length := 0.0, 0.0
	with := make([]float64, len(words))
	for i, c := range s.all {
		if c == nil || c.record.Parent != "" {
			continue
		}
		for h := range c.each(words) {
			total++
			length += h.length
			h.number = i
			for w, n := range h.counts {
				if n > 0 {
					with[w]++
				}
			}
			if slices.Max(h.counts) > 0 {
				hits = append(hits, h)
			}
		}
	}
	for i := range hits {
		hits[i].score = bm25(hits[i], with, total, length/total)
	}
	return hits
}

// bm25 is the formula of SQLite's FTS5, so that both stores agree.
func bm25(h hit, with []float64, total, average float64) (score float64) {
	const k, b = 1.2, 0.75
	for w, n := range h.counts {
		rare := max(1e-6, math.Log((total-with[w]+0.5)/(with[w]+0.5)))
		score += rare * n * (k + 1) / (n + k*(1-b+b*h.length/average))
	}
	return score
}

// each yields the searchable messages.
func (c *conversation) each(words []search.Word) func(yield func(hit) bool) {
	live, summary := c.messages.Slice(), 0
	var archive []message.Message
	if c.archived() {
		archive, summary = plain(c.kept.archive), 1
	}
	return func(yield func(hit) bool) {
		for i, m := range archive {
			if t := textsOf(m, i == 0); !t.IsZero() && !c.kept.archive[i].Summary {
				if !yield(count(hit{c: c, message: i, archived: true, around: archive}, t, words)) {
					return
				}
			}
		}
		for i := summary; i < len(live); i++ {
			if t := textsOf(live[i], i == 0); !t.IsZero() {
				if !yield(count(hit{c: c, message: i, around: live}, t, words)) {
					return
				}
			}
		}
		if summary > 0 {
			if t := search.OfSummary(live[0]); !t.IsZero() {
				yield(count(hit{c: c, summary: true, around: live}, t, words))
			}
		}
	}
}

func textsOf(m message.Message, first bool) search.Texts {
	if first {
		return search.OfFirst(m)
	}
	return search.Of(m)
}

func count(h hit, t search.Texts, words []search.Word) hit {
	h.counts = make([]float64, len(words))
	for _, part := range []struct {
		text   string
		weight float64
	}{{t.User, search.WeightUser}, {t.Tools, search.WeightTools}, {t.Assistant, search.WeightAssistant}, {t.Title, search.WeightTitle}, {t.Summary, search.WeightSummary}} {
		for word := range search.Each(part.text) {
			h.length++
			for i, w := range words {
				if w.Matches(word) {
					h.counts[i] += part.weight
				}
			}
		}
	}
	return h
}

func (h hit) match(q store.Query, words []search.Word) store.Match {
	m := h.around[h.message]
	out := store.Match{Record: h.c.record, Message: h.message, Archived: h.archived, Summary: h.summary, Role: m.Role, Snippet: search.Snippet(m, words)}
	if h.summary {
		out.Snippet = search.SummarySnippet(m, words)
	}
	for i := max(0, h.message-q.Before); i <= min(h.message+q.After, len(h.around)-1); i++ {
		out.Around = append(out.Around, store.Line{Message: i, Role: h.around[i].Role, Text: search.Line(h.around[i])})
	}
	return out
}
