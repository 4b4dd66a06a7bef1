// Package index makes rows of the index of words of a PostgreSQL store, and scores what a search
// has found in it.
package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store/internal/search"
)

// SummarySeq is the place of the summary in the index. Its own seq is that of an archived message.
const SummarySeq = 1<<32 - 1

// Rows are those of new messages, one slice for each column. Messages without words have none.
type Rows struct {
	// At is the position among the new messages.
	At      []int64
	Lengths []int32
	// Titled is Plain for a message that is the first one of its conversation.
	Titled, Plain []string
}

// Add adds the row of the message at that position.
func (w *Rows) Add(at int, m message.Message) {
	plain := search.Of(m)
	if plain.IsZero() {
		return
	}
	text, length := Vector(plain)
	titled := text
	if at == 0 {
		titled, _ = Vector(search.OfFirst(m))
	}
	w.At, w.Lengths = append(w.At, int64(at)), append(w.Lengths, length)
	w.Titled, w.Plain = append(w.Titled, titled), append(w.Plain, text)
}

// The labels of words by their source. Those of a summary have the label of a model's text.
const (
	labelTitle     = 'A'
	labelUser      = 'B'
	labelTools     = 'C'
	labelAssistant = 'D'
)

// Bounds of a tsvector: PostgreSQL refuses a larger one, and would fail the whole write
// (https://www.postgresql.org/docs/current/textsearch-limitations.html).
const (
	maxWord      = 2000    // bytes of a word; longer ones are not found
	maxPositions = 255     // of a word in one message
	maxVector    = 800_000 // bytes of words and positions, of 1 MiB
)

// Vector returns the texts as a tsvector, and their length in words. The position of a word just
// counts how often it was there: nothing searches for words beside each other.
func Vector(t search.Texts) (text string, length int32) {
	labels := map[string][]byte{} // one for each time
	size := 0
	for _, part := range []struct {
		text  string
		label byte
	}{{t.Title, labelTitle}, {t.User, labelUser}, {t.Tools, labelTools}, {t.Assistant, labelAssistant}, {t.Summary, labelAssistant}} {
		for word := range search.Each(part.text) {
			length++
			word = Fold(word)
			known := len(labels[word])
			if word == "" || len(word) > maxWord || known == maxPositions || size > maxVector {
				continue
			}
			if known == 0 {
				size += len(word) + 8
			}
			size += 2
			labels[word] = append(labels[word], part.label)
		}
	}
	return encode(labels), length
}

func encode(labels map[string][]byte) string {
	var out strings.Builder
	for _, word := range slices.Sorted(maps.Keys(labels)) {
		out.WriteByte('\'')
		out.WriteString(word) // letters, digits and marks: nothing to escape
		out.WriteByte('\'')
		separator := byte(':')
		for i, label := range labels[word] {
			out.WriteByte(separator)
			out.WriteString(strconv.Itoa(i + 1))
			out.WriteByte(label)
			separator = ','
		}
		out.WriteByte(' ')
	}
	return out.String()
}

// Fold returns the word without diacritics, so that it is found however somebody types it.
func Fold(word string) string {
	for _, r := range word {
		if r >= 0x80 {
			return norm.NFC.String(strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, norm.NFD.String(word)))
		}
	}
	return word
}

// Expression returns the tsquery for a word; "" if no row can have it.
func Expression(w search.Word) string {
	word := Fold(w.Text)
	switch {
	case word == "" || len(word) > maxWord:
		return ""
	case w.Prefix:
		return "'" + word + "':*"
	}
	return "'" + word + "'"
}

// Owner is the word by which a search finds all messages of a project, from its column. No text has it, because
// it begins with what is no letter.
func Owner(column string) string {
	return `array_to_tsvector(ARRAY['/' || left(encode(sha256(` + column + `), 'hex'), 16)])`
}

// Within returns the tsquery for what the expression finds in messages of the project.
func Within(project, expression string) string {
	sum := sha256.Sum256([]byte(project))
	return "'/" + hex.EncodeToString(sum[:8]) + "' & (" + expression + ")"
}

// Hit is a message with at least one of the words of a search.
type Hit struct {
	Conversation, Seq int64
	// Length is in words.
	Length int32
	// Counts is how often each word is in it, weighted.
	Counts []float64
	score  float64
}

// Weigh adds up the weights of the labels of a word.
func Weigh(labels string, summary bool) (sum float64) {
	for _, label := range labels {
		switch {
		case summary:
			sum += search.WeightSummary
		case label == labelTitle:
			sum += search.WeightTitle
		case label == labelUser:
			sum += search.WeightUser
		case label == labelTools:
			sum += search.WeightTools
		default:
			sum += search.WeightAssistant
		}
	}
	return sum
}

// Sort sorts the hits by how well they match (BM25), the best first, and of equal ones the newer.
// With has how many messages have each word, of total messages of that average length.
func Sort(hits []Hit, with []int64, total, average float64) {
	for i := range hits {
		hits[i].score = bm25(hits[i], with, total, average)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Conversation, a.Conversation), cmp.Compare(b.Seq, a.Seq))
	})
}

// bm25 is the formula of SQLite's FTS5, so that both stores agree.
func bm25(h Hit, with []int64, total, average float64) (score float64) {
	const k, b = 1.2, 0.75
	for w, n := range h.Counts {
		have := float64(with[w])
		rare := max(1e-6, math.Log((total-have+0.5)/(have+0.5)))
		score += rare * n * (k + 1) / (n + k*(1-b+b*float64(h.Length)/average))
	}
	return score
}
