package character

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what a person sees without a remark.
const (
	maxLine  = 1000 // characters of a line
	maxGap   = 20   // blanks between two words
	maxEmpty = 4    // empty lines between two others
	maxWords = 3    // words that a remark quotes
)

// Remarks returns a sentence about each kind of thing in a text that a person may overlook or
// misread: invisible characters, odd blanks, lines that end with blanks, text behind a gap, long
// lines, and letters that look like others. nil if there is nothing to say. A sentence has no full
// stop, and shows characters in the form of [Escaped].
func Remarks(s string) []string {
	var r remarks
	marks := 0
	for i, c := range s {
		_, n := utf8.DecodeRuneInString(s[i:])
		if marks = Piled(c, marks); marks > MaxMarks {
			r.add(piled, c, s[i:i+n])
		}
		if k := kindOf(c, n); k != plain {
			r.add(k, c, s[i:i+n])
		}
	}
	return slices.Concat(r.sentences(), layout(s), disguised(s))
}

// kind is a kind of characters that a person cannot recognise.
type kind int

const (
	plain kind = iota
	control
	carriage
	direction
	tag
	invisible
	blank
	piled
	undecoded
	lookalike
	kinds
)

// kindNames are the names of the kinds, for one character and for several.
func kindNames(k kind) (one, many string) {
	switch k {
	case control:
		return "control character", "control characters"
	case carriage:
		return "carriage return", "carriage returns"
	case direction:
		return "character that turns the direction of text", "characters that turn the direction of text"
	case tag:
		return "tag character, which hides text", "tag characters, which hide text"
	case blank:
		return "blank of an unusual kind", "blanks of an unusual kind"
	case piled:
		return "mark piled on one character", "marks piled on one character"
	case undecoded:
		return "byte that is not UTF-8", "bytes that are not UTF-8"
	case lookalike:
		return "character that looks like an ASCII one", "characters that look like ASCII ones"
	}
	return "invisible character", "invisible characters"
}

func kindOf(r rune, size int) kind {
	switch {
	case r >= ' ' && r < 0x7f || r == '\n' || r == '\t':
		return plain
	case r == utf8.RuneError && size == 1:
		return undecoded
	case r == '\r':
		return carriage
	case r <= 0x9f:
		return control
	case r >= 0xe0000 && r <= 0xe007f:
		return tag
	case unicode.Is(unicode.Bidi_Control, r):
		return direction
	case unicode.Is(unicode.Zs, r), r == braille, r == '\u3164', r == '\u2028', r == '\u2029':
		return blank
	case Unseen(r):
		return invisible
	case r >= 0xff01 && r <= 0xff5e, r >= 0x1d400 && r <= 0x1d7ff, strings.ContainsRune("∕⁄⧸∖⧵․﹒꞉∶ꓽ﹔﹠∣ǀ‚‹›ˋ", r):
		return lookalike
	}
	return plain
}

// remarks counts characters by their kinds.
type remarks struct {
	count [kinds]int
	// shown is the first character of each kind, escaped.
	shown [kinds]string
	// hidden is the text that tag characters stand for.
	hidden strings.Builder
}

func (r *remarks) add(k kind, c rune, bytes string) {
	if r.count[k]++; r.count[k] == 1 {
		r.shown[k] = Escaped(c, bytes)
	}
	if k == tag && c > 0xe001f && c < 0xe007f && r.hidden.Len() < 200 {
		r.hidden.WriteRune(c - 0xe0000)
	}
}

func (r *remarks) sentences() []string {
	var out []string
	for k := plain + 1; k < kinds; k++ {
		if r.count[k] == 0 {
			continue
		}
		name, many := kindNames(k)
		if r.count[k] > 1 {
			name = many
		}
		text := fmt.Sprintf("%d %s, such as %s", r.count[k], name, r.shown[k])
		if k == tag && r.hidden.Len() > 0 {
			text += fmt.Sprintf(": %q", r.hidden.String())
		}
		out = append(out, text)
	}
	return out
}

const blanks = "blanks"

// HidesNothing reports whether a remark is about blanks at the end of lines, which only look odd.
func HidesNothing(remark string) bool {
	return strings.HasSuffix(remark, "end with "+blanks) || strings.HasSuffix(remark, "ends with "+blanks)
}

// layout remarks on what lies out of sight, and on blanks at the end of lines.
func layout(s string) []string {
	var out []string
	say := func(n int, one, many string) {
		if n == 1 {
			out = append(out, one)
		} else if n > 1 {
			out = append(out, fmt.Sprintf(many, n))
		}
	}
	ends, gaps, behind, long, longest, empty := 0, 0, 0, 0, 0, 0
	seen := false
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSuffix(line, "\r")
		text := strings.TrimRight(line, " \t")
		if text == "" {
			empty++
		} else {
			if seen && empty > maxEmpty {
				behind = max(behind, empty)
			}
			seen, empty = true, 0
		}
		if text != line {
			ends++
		}
		if gap(strings.TrimLeft(text, " \t")) || len(text)-len(strings.TrimLeft(text, " \t")) > 2*maxGap {
			gaps++
		}
		if n := utf8.RuneCountInString(line); n > maxLine {
			long, longest = long+1, max(longest, n)
		}
	}
	say(ends, "a line ends with "+blanks, "%d lines end with "+blanks)
	say(gaps, "a line has text far to the right, behind blanks or tabs", "%d lines have text far to the right, behind blanks or tabs")
	if behind > 0 {
		out = append(out, fmt.Sprintf("there is text behind %d empty lines", behind))
	}
	if long > 0 {
		say(long, "a line is very long", "%d lines are very long")
		out[len(out)-1] += fmt.Sprintf(", up to %d characters", longest)
	}
	return out
}

// gap reports whether a line has more than maxGap blanks in a row; a tab counts as eight.
func gap(line string) bool {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			n = 0
		}
		if n > maxGap {
			return true
		}
	}
	return false
}

// disguised remarks on words with Latin letters and letters of another script that look like them.
func disguised(s string) []string {
	var found []string
	n := 0
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !mixed(word) {
			continue
		}
		if n++; n <= maxWords {
			found = append(found, spelled(word))
		}
	}
	switch {
	case n == 0:
		return nil
	case n == 1:
		return []string{"a word mixes letters of several scripts that look alike: " + found[0]}
	}
	return []string{fmt.Sprintf("%d words mix letters of several scripts that look alike: %s", n, strings.Join(found, ", "))}
}

func foreign(r rune) bool {
	return r >= 0x370 && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
}

func mixed(word string) bool {
	return strings.ContainsFunc(word, foreign) && strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
}

// spelled returns a word with its foreign letters escaped.
func spelled(word string) string {
	word, _ = Cut(word, 40)
	var sb strings.Builder
	for _, r := range word {
		if foreign(r) {
			sb.WriteString(Escaped(r, string(r)))
		} else {
			sb.WriteRune(r)
		}
	}
	return sb.String()
}
