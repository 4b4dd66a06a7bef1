package memory

import (
	"strings"
	"unicode"
)

// maxTerms limits the words of a query; further words are ignored.
const maxTerms = 32

// term is a word of a query, in lower case. A prefix finds all words that begin with it.
type term struct {
	word   string
	prefix bool
}

// wanted returns the words that a search looks for; any of them is enough. foo* finds all words
// that begin with foo. Very common words count only if there are no others.
func wanted(query string) []term {
	terms, common := terms(query)
	if len(terms) == 0 {
		terms = common
	}
	return terms
}

// terms returns the query's words without repetition. common has the very common ones.
func terms(query string) (terms, common []term) {
	seen := map[term]bool{}
	for rest := query; len(seen) < maxTerms; {
		word, tail := nextWord(rest)
		if word == "" {
			break
		}
		rest = tail
		t := term{strings.ToLower(word), strings.HasPrefix(rest, "*")}
		if seen[t] {
			continue
		}
		seen[t] = true
		if stopWord(t.word) {
			common = append(common, t)
		} else {
			terms = append(terms, t)
		}
	}
	return terms, common
}

// nextWord returns the first word of s and the rest.
func nextWord(s string) (word, rest string) {
	begin := strings.IndexFunc(s, inWord)
	if begin < 0 {
		return "", ""
	}
	s = s[begin:]
	end := strings.IndexFunc(s, func(r rune) bool { return !inWord(r) })
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

// inWord reports whether r is part of a word for the index's tokenizer.
func inWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co)
}

func stopWord(w string) bool {
	switch w {
	case "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does", "for",
		"from", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
		"me", "my", "no", "not", "of", "on", "or", "our", "she", "should", "so", "some", "such", "than", "that",
		"the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was", "we", "were",
		"what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your":
		return true
	}
	return false
}
