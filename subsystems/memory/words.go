package memory

import (
	"slices"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/internal/character"
)

// stems returns the words of a text that carry meaning, in their order and without endings.
// It keeps negations, numbers and repetitions.
func stems(text string) (out []string) {
	for rest := text; len(out) < maxStems; {
		word, tail := nextWord(rest)
		if word == "" {
			break
		}
		rest = tail
		if word = strings.ToLower(word); !stopWord(word) || negation(word) {
			out = append(out, stem(word))
		}
	}
	return out
}

// maxStems bounds the words of a text that are compared.
const maxStems = 400

func negation(word string) bool {
	switch word {
	case "no", "not", "nor", "never", "none", "without", "cannot", "don", "doesn", "didn", "isn", "wasn", "won", "kein", "keine", "keinen", "nicht", "nie", "ohne":
		return true
	}
	return false
}

// endings are those that stem removes, the longest first. It is a rule of thumb for English
// that never makes a word shorter than four letters.
var endings = [...]string{"ations", "ation", "ings", "ing", "ies", "ied", "edly", "ed", "ers", "er", "es", "ly", "s", "e", "y"}

func stem(word string) string {
	for _, r := range word {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) {
			return word
		}
	}
	for again := true; again; { // preferred, prefers and prefer all lose er
		again = false
		for _, end := range endings {
			if cut, found := strings.CutSuffix(word, end); found && len(cut) >= 4 {
				if n := len(cut); cut[n-1] == cut[n-2] && cut[n-1] != 's' && cut[n-1] != 'l' {
					cut = cut[:n-1] // running, planned
				}
				word, again = cut, true
				break
			}
		}
	}
	return word
}

// relation says how two texts relate.
type relation int

const (
	different relation = iota
	same               // the same words
	within             // the first has most words of the second, and no others
	beyond             // the second has most words of the first, and no others
)

// compare compares texts word by word, as they are: an ending or a small word may turn the sense around. One text may have more
// words only if they are harmless.
func compare(a, b string) relation {
	if len(a) > maxCompared || len(b) > maxCompared {
		return different
	}
	x, y := allWords(a), allWords(b)
	switch {
	case len(x) == 0 || len(y) == 0:
		return different
	case slices.Equal(x, y):
		return same
	case 5*len(x) >= 4*len(y) && subsequence(x, y):
		return within
	case 5*len(y) >= 4*len(x) && subsequence(y, x):
		return beyond
	}
	return different
}

// maxCompared is the longest text that is compared, in bytes.
const maxCompared = 4000

// allWords returns the words of a text in lower case.
func allWords(text string) (out []string) {
	for rest := text; ; {
		word, tail := nextWord(rest)
		if word == "" {
			return out
		}
		rest = tail
		out = append(out, strings.ToLower(word))
	}
}

// harmless reports whether a word more changes nothing.
func harmless(word string) bool {
	switch word {
	case "a", "an", "the", "always", "also", "please", "really", "very", "just":
		return true
	}
	return false
}

// subsequence reports whether y has the words of x in their order, and further ones that are harmless.
func subsequence(x, y []string) bool {
	at := 0
	for _, w := range y {
		switch {
		case at < len(x) && x[at] == w:
			at++
		case !harmless(w):
			return false
		}
	}
	return at == len(x)
}

// plain returns the text without what a person cannot see, as one that acts on no terminal
// and hides nothing from people.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if character.Unseen(r) && r != '\u200d' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
