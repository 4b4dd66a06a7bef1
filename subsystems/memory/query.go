package memory

import (
	"strings"
	"unicode"
)

// maxTerms bounds the words of one query; what comes after them is left out.
const maxTerms = 32

// match returns the FTS5 expression that finds memories with any of the query's
// words, or "" if it has none. Every word is quoted, so no query can
// be an error or mean anything but its words. A star right after a word, foo*,
// stands for all words that begin with it. Words that every text has count only
// where there are no others.
func match(query string) string {
	terms, common := terms(query)
	if len(terms) == 0 {
		terms = common
	}
	return strings.Join(terms, " OR ")
}

// terms returns the query's words as FTS5 phrases, without repetition, and apart
// from them those that every text has.
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

// nextWord returns the first word of s and what follows it.
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

// inWord reports whether the tokenizer of the index takes r as a part of a word.
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
