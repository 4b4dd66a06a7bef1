package memory

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Reasons of the rules. They are part of diagnostics and policies.
const (
	reasonChild       = "child_turn"
	reasonOffRecord   = "off_the_record"
	reasonForget      = "explicit_forget"
	reasonRemember    = "explicit_remember"
	reasonPast        = "refers_to_the_past"
	reasonAcknowledge = "acknowledgement"
	reasonQuestion    = "question"
	reasonNothing     = "no_words"
	reasonDefault     = "default"
)

// rule recognises messages by their phrases. The first that fits decides.
type rule struct {
	reason     string
	confidence float64
	phrases    []string
	policy     policy
}

// full is what a turn may do if nothing speaks against it.
func full(r Recall) policy {
	return policy{recall: r, read: true, remember: true, forget: true, extract: true}
}

// rules are in their order. Phrases are words in lower case; they fit whole words only.
func rules() []rule {
	return []rule{
		{reasonOffRecord, 0.95, []string{
			"off the record", "off-the-record", "do not remember", "don't remember", "do not store", "don't store", "do not save this", "don't save this", "do not keep this", "don't keep this",
			"without remembering", "not be remembered", "not be stored", "not be saved", "do not save it", "don't save it", "do not keep any of this", "don't keep any of this", "merk dir das nicht", "merke dir das nicht", "nicht merken", "nicht speichern",
		}, policy{recall: RecallLight, read: true, forget: true}},
		{reasonRemember, 0.9, []string{
			"don't forget", "do not forget", "never forget", "vergiss nicht", "before i forget", "lest i forget",
		}, full(RecallLight)},
		{reasonForget, 0.9, []string{
			"forget", "no longer true", "remove from memory", "delete from memory", "delete the memory", "vergiss",
		}, policy{recall: RecallFull, read: true, forget: true}},
		{reasonRemember, 0.9, []string{
			"remember that", "remember this", "remember:", "remember my", "remember to", "please remember", "from now on", "keep in mind", "note that", "make a note",
			"merk dir", "merke dir", "ab jetzt", "denk daran",
		}, full(RecallLight)},
		{reasonPast, 0.85, []string{
			"last time", "last week", "last month", "yesterday", "earlier", "previously", "again", "as before", "as usual", "we decided", "we agreed", "i told you", "i said",
			"you said", "you told", "do you remember", "remind me", "the usual", "letztes mal", "wie immer", "gestern", "weißt du noch",
		}, full(RecallFull)},
	}
}

// maxClassified is how much of the beginning and of the end of a message the rules look at, in bytes.
const maxClassified = 16_000

// plainer writes phrases as the rules have them.
var plainer = strings.NewReplacer("’", "'", "dont ", "don't ")

// byRule classifies a message without a model.
func byRule(text string) policy {
	if len(text) > 2*maxClassified { // people say such things at the beginning or at the end
		head, tail := text[:maxClassified], text[len(text)-maxClassified:]
		head = head[:max(0, strings.LastIndexAny(head, " \n\t"))] // no part of a word
		tail = tail[strings.IndexAny(tail, " \n\t")+1:]
		text = head + " … " + tail
	}
	text = " " + strings.Join(strings.Fields(plainer.Replace(strings.ToLower(text))), " ") + " "
	for _, r := range rules() {
		if slices.ContainsFunc(r.phrases, func(p string) bool { return hasPhrase(text, p) }) {
			return r.policy.because(r.reason, r.confidence)
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) })
	switch {
	case len(words) == 0:
		return policy{recall: recallNone, read: true, remember: true, forget: true}.because(reasonNothing, 1)
	case len(words) <= 4 && !strings.Contains(text, "?") && slices.ContainsFunc(words, acknowledges) && !slices.ContainsFunc(words, carries):
		return policy{recall: recallNone, read: true, remember: true, forget: true}.because(reasonAcknowledge, 0.9)
	case strings.Contains(text, "?") || asksFor(words[0]):
		return full(RecallFull).because(reasonQuestion, 0.7)
	}
	return full(RecallFull).because(reasonDefault, 0.5)
}

func (p policy) because(reason string, confidence float64) policy {
	p.reason, p.confidence, p.source = reason, confidence, byRules
	return p
}

// hasPhrase reports whether the text has the phrase as whole words.
func hasPhrase(text, phrase string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], phrase)
		if i < 0 {
			return false
		}
		i += at
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		last, _ := utf8.DecodeLastRuneInString(phrase)
		after, _ := utf8.DecodeRuneInString(text[i+len(phrase):])
		if !inWord(before) && (!inWord(after) || !inWord(last)) {
			return true
		}
		at = i + len(phrase)
	}
}

func acknowledges(word string) bool {
	switch word {
	case "thanks", "thank", "thx", "ok", "okay", "yes", "no", "yep", "nope", "great", "good", "fine", "nice", "perfect", "hi", "hello", "hey", "bye", "danke", "ja", "nein", "gut", "hallo", "super":
		return true
	}
	return false
}

// carries reports whether a word says more than an acknowledgement.
func carries(word string) bool {
	return !acknowledges(word) && !stopWord(word) && word != "very" && word != "much" && word != "there" && word != "everyone" && word != "again"
}

func asksFor(word string) bool {
	switch word {
	case "what", "which", "who", "whose", "when", "where", "why", "how", "is", "are", "was", "were", "do", "does", "did", "can", "could", "should", "would", "will",
		"wer", "wann", "wo", "wie", "warum", "welche", "welcher", "welches":
		return true
	}
	return false
}
