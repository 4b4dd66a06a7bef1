package edit

import (
	"slices"
	"strings"
	"unicode"
)

// text is the edited text with the cursor.
type text struct {
	runes []rune
	at    int
	// cut is the text that was cut last, for pasting.
	cut []rune
}

func (t *text) String() string { return string(t.runes) }

// set replaces everything, with the cursor at the end.
func (t *text) set(s string) {
	t.runes = printable(s)
	t.at = len(t.runes)
}

func (t *text) insert(s string) {
	r := printable(s)
	t.runes = slices.Insert(t.runes, t.at, r...)
	t.at += len(r)
}

// printable returns a text with LF as line ends and without control characters other than
// tabs, so that pasted text cannot control the terminal.
func printable(s string) []rune {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return slices.DeleteFunc([]rune(s), func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	})
}

// lineStart and lineEnd return the ends of the line with position i.
func (t *text) lineStart(i int) int {
	for i > 0 && t.runes[i-1] != '\n' {
		i--
	}
	return i
}

func (t *text) lineEnd(i int) int {
	for i < len(t.runes) && t.runes[i] != '\n' {
		i++
	}
	return i
}

// before returns the begin of the character that ends at i.
func (t *text) before(i int) int {
	if i == 0 || t.runes[i-1] == '\n' {
		return max(0, i-1)
	}
	last := t.lineStart(i)
	for j := last; j < i; {
		last = j
		n, _ := cluster(t.runes, j)
		j += n
	}
	return last
}

// after returns the end of the character that begins at i.
func (t *text) after(i int) int {
	if i == len(t.runes) {
		return i
	}
	n, _ := cluster(t.runes, i)
	return i + n
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// wordBefore returns the begin of the word that ends at i or before it.
func (t *text) wordBefore(i int) int {
	for i > 0 && !wordy(t.runes[i-1]) {
		i--
	}
	for i > 0 && wordy(t.runes[i-1]) {
		i--
	}
	return i
}

func (t *text) wordAfter(i int) int {
	for i < len(t.runes) && !wordy(t.runes[i]) {
		i++
	}
	for i < len(t.runes) && wordy(t.runes[i]) {
		i++
	}
	return i
}

// blankBefore returns the begin of the text without blanks that ends at i or before it.
func (t *text) blankBefore(i int) int {
	for i > 0 && unicode.IsSpace(t.runes[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(t.runes[i-1]) {
		i--
	}
	return i
}

func (t *text) remove(from, to int) {
	t.runes = slices.Delete(t.runes, from, to)
	t.at = from
}

// take deletes the text between two positions and keeps it for pasting.
func (t *text) take(from, to int) {
	if from < to {
		t.cut = slices.Clone(t.runes[from:to])
		t.remove(from, to)
	}
}

// vertical moves the cursor to the line above or below, to the same column or the line's
// end; false if there is no such line.
func (t *text) vertical(down bool) bool {
	start := t.lineStart(t.at)
	column := Width(string(t.runes[start:t.at]))
	if down {
		end := t.lineEnd(t.at)
		if end == len(t.runes) {
			return false
		}
		start = end + 1
	} else {
		if start == 0 {
			return false
		}
		start = t.lineStart(start - 1)
	}
	i := start
	for sum := 0; i < t.lineEnd(start); {
		n, cells := cluster(t.runes, i)
		if sum += cells; sum > column {
			break
		}
		i += n
	}
	t.at = i
	return true
}
