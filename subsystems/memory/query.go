package memory

import (
	"strings"
	"unicode"
)

// maxTerms limits the words of a query; further words are ignored.
const maxTerms = 32

// match returns the FTS5 expression that finds memories with any of the query's words, or
// "" if it has no words. Words are quoted, so that no query is a syntax error. foo* finds
// all words that begin with foo. Very common words count only if there are no others.
func match(query string) string {
	terms, common := terms(query)
	if len(terms) == 0 {
		terms = common
	}
	return strings.Join(terms, " OR ")
}

// terms returns the query's words as FTS5 phrases without repetition. common has the very
// common ones.
func terms(query string) (terms, common []string) {
	seen := map[string]bool{}
	for rest := query; len(seen) < maxTerms; {
		word, tail := nextWord(rest)
		if word == "" {
			break
		}
		rest = tail
		folded := strings.ToLower(word)
		phrase := `"` + folded + `"`
		if strings.HasPrefix(rest, "*") {
			phrase += "*"
		}
		if seen[phrase] {
			continue
		}
		seen[phrase] = true
		if stopWord(folded) {
			common = append(common, phrase)
		} else {
			terms = append(terms, phrase)
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
