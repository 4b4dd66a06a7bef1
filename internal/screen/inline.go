package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHeld limits the bytes that are held back to find the end of markup. Without an end
// within them the characters are text.
const maxHeld = 4096

// styles counts the active styles, because a style may be nested in itself.
type styles [Cyan + 1]int

func (s *styles) on(st Style) string {
	s[st]++
	if s[st] > 1 {
		return ""
	}
	return st.Begin().s
}

// off ends a style; it does nothing if the style is not active.
func (s *styles) off(st Style) string {
	if s[st] == 0 {
		return ""
	}
	s[st]--
	if s[st] > 0 {
		return ""
	}
	return st.End().s
}

// scanner renders inline markup.
type scanner struct {
	style *styles
	out   *strings.Builder
	// prev is the character before, 0 at the beginning of a line.
	prev rune
}

// scan renders the decided part of a text, and returns its length: all of it if the text is
// complete.
func (s *scanner) scan(text string, complete bool) int {
	at := 0
	for at < len(text) {
		plain := strings.IndexAny(text[at:], "\\`*_~[")
		if plain < 0 {
			plain = len(text) - at
		}
		s.show(text[at : at+plain])
		at += plain
		if at == len(text) {
			break
		}
		n := s.mark(text[at:], complete)
		if n == 0 {
			break
		}
		at += n
	}
	return at
}

// show writes text without markup.
func (s *scanner) show(text string) {
	if text == "" {
		return
	}
	s.out.WriteString(text)
	s.prev, _ = utf8.DecodeLastRuneInString(text)
}

// mark renders the text that begins with a character of markup, and returns its length; 0 if
// that is not decided.
func (s *scanner) mark(text string, complete bool) int {
	if len(text) > maxHeld {
		text, complete = text[:maxHeld], true
	}
	switch text[0] {
	case '\\':
		return s.escape(text, complete)
	case '[':
		return s.link(text, complete)
	}
	run := runOf(text)
	end, found := -1, unknown
	switch {
	case run == len(text):
		found = missing
	case text[0] == '`':
		end, found = closingCode(text, run, complete)
	case s.opens(text, run):
		end, found = closingMark(text, run, complete)
	default:
		s.show(text[:run])
		return run
	}
	switch {
	case found == there && text[0] == '`':
		s.code(text[run:end])
	case found == there:
		s.emphasis(text[0], run, text[run:end])
	case complete:
		s.show(text[:run])
		return run
	default:
		return 0
	}
	return end + run
}

// runOf returns how often a text repeats its first character at its beginning.
func runOf(text string) int { return len(text) - len(strings.TrimLeft(text, text[:1])) }

func (s *scanner) escape(text string, complete bool) int {
	switch {
	case len(text) > 1 && text[1] < utf8.RuneSelf && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", text[1]) >= 0:
		s.show(text[1:2])
		return 2
	case len(text) == 1 && !complete:
		return 0
	}
	s.show(text[:1])
	return 1
}

// opens reports whether a run of * _ or ~ can open a style. A character must follow it.
func (s *scanner) opens(text string, run int) bool {
	if text[0] == '~' && run != 2 || run > 3 {
		return false
	}
	next, _ := utf8.DecodeRuneInString(text[run:])
	return !unicode.IsSpace(next) && (text[0] != '_' || !wordy(s.prev))
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// found says whether the text has the end of a mark. It is unknown while the line is not
// complete.
type found int

const (
	unknown found = iota
	missing
	there
)

// closingCode finds the run that closes code.
func closingCode(text string, run int, complete bool) (int, found) {
	for i := run; i < len(text); {
		next := strings.IndexByte(text[i:], '`')
		if next < 0 {
			break
		}
		i += next
		n := runOf(text[i:])
		if n == run && (complete || i+n < len(text)) {
			return i, there
		}
		i += n
	}
	return 0, ended(complete)
}

func ended(complete bool) found {
	if complete {
		return missing
	}
	return unknown
}

// closingMark finds the run that closes a run of * _ or ~. Runs in code or behind a
// backslash do not count.
func closingMark(text string, run int, complete bool) (int, found) {
	for i := run; i < len(text); {
		switch c := text[i]; {
		case c == '\\':
			i += 2
		case c == '`':
			end, found := closingCode(text[i:], runOf(text[i:]), complete)
			if found == unknown {
				return 0, unknown
			}
			i += end + runOf(text[i:])
		case c == text[0]:
			n := runOf(text[i:])
			if i+n == len(text) && !complete {
				return 0, unknown
			}
			if n == run && closes(text, i, n) {
				return i, there
			}
			i += n
		default:
			i++
		}
	}
	return 0, ended(complete)
}

func closes(text string, at, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+n:])
	return !unicode.IsSpace(before) && (text[0] != '_' || !wordy(after))
}

func (s *scanner) code(text string) {
	if strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") && strings.TrimSpace(text) != "" {
		text = text[1 : len(text)-1]
	}
	s.out.WriteString(s.style.on(Cyan) + text + s.style.off(Cyan))
	s.prev = '`'
}

func (s *scanner) emphasis(mark byte, run int, text string) {
	var on []Style
	switch {
	case mark == '~':
		on = []Style{Struck}
	case run == 1:
		on = []Style{Italic}
	case run == 2:
		on = []Style{Bold}
	default:
		on = []Style{Bold, Italic}
	}
	s.within(text, on...)
	s.prev = rune(mark)
}

// within renders a text in a style, with its own markup.
func (s *scanner) within(text string, on ...Style) {
	for _, st := range on {
		s.out.WriteString(s.style.on(st))
	}
	inner := scanner{style: s.style, out: s.out, prev: s.prev}
	inner.scan(text, true)
	for _, st := range on {
		s.out.WriteString(s.style.off(st))
	}
}

// link renders [text](address) as the underlined text and the address: it never hides the
// address.
func (s *scanner) link(text string, complete bool) int {
	middle := matching(text, '[', ']')
	if middle < 0 || middle+1 == len(text) {
		return s.noLink(complete)
	}
	if text[middle+1] != '(' || middle == 1 {
		return s.noLink(true)
	}
	end := matching(text[middle+1:], '(', ')')
	if end < 0 {
		return s.noLink(complete)
	}
	label, address := text[1:middle], text[middle+2:middle+1+end]
	s.within(label, Underline)
	if label != address {
		s.out.WriteString(" (" + address + ")")
	}
	s.prev = ')'
	return middle + 2 + end
}

func (s *scanner) noLink(decided bool) int {
	if !decided {
		return 0
	}
	s.show("[")
	return 1
}

// matching returns the position that closes the bracket at the beginning of a text; -1 if
// there is none.
func matching(text string, open, end byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
