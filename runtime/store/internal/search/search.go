// Package search selects the parts of a message that a search finds and shows, for all
// stores. It has no index.
//
// These are the text of people and models, and the names of called tools. Arguments,
// results, reasoning, metadata, media and labelled messages are left out: they may have
// secrets, or words that nobody wrote. Of labelled messages only the present summary of a
// conversation is searched: it is a model's text, as an answer is.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
)

// The weights of a word by its source; BM25 multiplies its count by them.
const (
	WeightSummary   = 3.0
	WeightTitle     = 2.0
	WeightUser      = 1.5
	WeightTools     = 1.3
	WeightAssistant = 1.0
)

// MaxText is the length of a snippet or a line at most, in bytes.
const MaxText = 1024

const (
	maxWords = 32 // of a query
	maxName  = 128
)

// Texts are the searchable texts of a message, by weight.
type Texts struct{ User, Tools, Assistant, Title, Summary string }

// IsZero reports whether there are none.
func (t Texts) IsZero() bool { return t == Texts{} }

// Of returns the searchable texts of a message.
func Of(m message.Message) Texts {
	switch {
	case m.Label != "":
	case m.Role == message.RoleUser:
		return Texts{User: texts(m)}
	case m.Role == message.RoleAssistant:
		return Texts{Tools: strings.Join(tools(m), " "), Assistant: texts(m)}
	}
	return Texts{}
}

// OfFirst is Of for the first message of a conversation. What begins the text of a person is its
// title.
func OfFirst(m message.Message) Texts {
	t := Of(m)
	t.Title, t.User = titled(t.User)
	return t
}

// OfSummary is Of for the summary that stands for the compacted messages of a conversation.
func OfSummary(m message.Message) Texts { return Texts{Summary: texts(m)} }

// maxTitle is in characters, as that of package store. A title ends with a word.
const maxTitle = 80

// titled splits a text behind its title.
func titled(text string) (title, rest string) {
	n := 0
	for i := range text {
		if n++; n <= maxTitle {
			continue
		}
		for begin, end := range each(text) {
			if begin >= i {
				return text[:begin], text[begin:]
			}
			if end >= i {
				return text[:end], text[end:]
			}
		}
		break
	}
	return text, ""
}

// texts returns the text blocks, a blank between them.
func texts(m message.Message) string {
	var parts []string
	for _, b := range m.Content.All() {
		if b.Kind == message.BlockText && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, " "), "\ufffd")
}

func tools(m message.Message) []string {
	var names []string
	for _, b := range m.Content.All() {
		if b.Kind == message.BlockToolCall && isName(b.Tool) {
			names = append(names, b.Tool)
		}
	}
	return names
}

// isName reports whether s can be the name of a tool. A model may call a tool by any text.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	}) < 0
}

// Word is one word of a query, in lower case.
type Word struct {
	Text string
	// Prefix: it matches all words that begin with Text.
	Prefix bool
}

// Matches reports whether w matches the word, which is in lower case.
func (w Word) Matches(word string) bool {
	return word == w.Text || w.Prefix && strings.HasPrefix(word, w.Text)
}

// Words returns the words of a query, each once, 32 at most.
func Words(query string) []Word {
	var out []Word
	seen := map[Word]bool{}
	for begin, end := range each(query) {
		w := Word{Text: strings.ToLower(query[begin:end]), Prefix: strings.HasPrefix(query[end:], "*")}
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
		if len(out) == maxWords {
			break
		}
	}
	return out
}

// Each yields the words of a text in lower case.
func Each(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for begin, end := range each(text) {
			if !yield(strings.ToLower(text[begin:end])) {
				return
			}
		}
	}
}

// each yields the begin and end of each word of a text.
func each(text string) func(yield func(begin, end int) bool) {
	return func(yield func(begin, end int) bool) {
		begin := -1
		for i, r := range text {
			switch in := unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co); {
			case in && begin < 0:
				begin = i
			case !in && begin >= 0:
				if !yield(begin, i) {
					return
				}
				begin = -1
			}
		}
		if begin >= 0 {
			yield(begin, len(text))
		}
	}
}

// Line returns a message as one line.
func Line(m message.Message) string {
	text, calls := shown(m)
	if calls == "" || text == "" {
		return cut(text+calls, 0, MaxText)
	}
	return cut(text, 0, MaxText-1-len(calls)) + " " + calls
}

// shown returns the text of a message, and a short note for its other parts.
func shown(m message.Message) (text, rest string) {
	switch {
	case m.Label != "":
		return "", bracket("", m.Label)
	case m.Role == message.RoleTool:
		return "", bracket("result of ", m.Tool)
	case m.Role != message.RoleUser && m.Role != message.RoleAssistant:
		return "", ""
	}
	if names := tools(m); len(names) > 0 {
		rest = "[" + cut(strings.Join(names, ", "), 0, MaxText/2) + "]"
	}
	return texts(m), rest
}

func bracket(what, name string) string {
	if !isName(name) {
		name = "?"
	}
	return "[" + what + name + "]"
}

// Snippet returns the text of a message around the first of the words, or its beginning if
// it has none of them.
func Snippet(m message.Message, words []Word) string {
	text, _ := shown(m)
	if s, ok := snippet(text, words); ok {
		return s
	}
	return Line(m)
}

// SummarySnippet is Snippet for a summary.
func SummarySnippet(m message.Message, words []Word) string {
	text := texts(m)
	if s, ok := snippet(text, words); ok {
		return s
	}
	return cut(text, 0, MaxText)
}

// snippet returns the text around the first of the words; false if it has none of them.
func snippet(text string, words []Word) (string, bool) {
	for begin, end := range each(text) {
		word := strings.ToLower(text[begin:end])
		for _, w := range words {
			if w.Matches(word) {
				return cut(text, max(0, begin-MaxText/3), MaxText), true
			}
		}
	}
	return "", false
}

// cut returns the text from byte from on as one line of at most limit bytes. It cuts
// between runes, and marks the cuts.
func cut(text string, from, limit int) string {
	const ellipsis = "…"
	before, after := "", ""
	if from > 0 {
		before = ellipsis
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		text = text[from:]
	}
	if limit -= len(before); len(text) > limit {
		after = ellipsis
		limit -= len(after)
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:max(0, limit)]
	}
	return before + oneLine(text) + after
}

// oneLine replaces characters that would break or move a line by blanks.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
