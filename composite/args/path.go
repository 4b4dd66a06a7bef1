package args

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// pathTo returns the path of the value that byte at of the text belongs to,
// "items[2].name", and of the name within it. It is only asked after an error
// and walks the text again, so that nothing is paid where there is none. What
// lies before the byte has been read, so it is well formed.
func pathTo(text string, at int, name string) string {
	w := walker{text: text, at: at}
	w.value()
	if name != "" {
		w.push(member(name))
	}
	return strings.TrimPrefix(strings.Join(w.path, ""), ".")
}

// member returns one name as a part of a path, quoted and cut if it is unusual:
// the model chose it.
func member(name string) string {
	const most = 64
	if plainName(name) && len(name) <= most {
		return "." + name
	}
	if utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most]) + "…"
	}
	return "[" + strconv.Quote(name) + "]"
}

func plainName(name string) bool {
	for i := range len(name) {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && name[i] != '_' && (i == 0 || name[i] != '-' && !isDigit(name[i])) {
			return false
		}
	}
	return name != ""
}

// walker follows the text up to a byte. Its methods return false once they are
// there; path is then where that is.
type walker struct {
	text string
	pos  int
	at   int
	path []string
}

func (w *walker) push(part string) { w.path = append(w.path, part) }
func (w *walker) pop()             { w.path = w.path[:len(w.path)-1] }

// skipTo skips blanks and the byte also, up to the next thing.
func (w *walker) skipTo(also byte) bool {
	for w.pos < len(w.text) && w.pos < w.at && (isBlank(w.text[w.pos]) || w.text[w.pos] == also) {
		w.pos++
	}
	return w.pos < len(w.text) && w.pos < w.at
}

func (w *walker) value() bool {
	if !w.skipTo(' ') {
		return false
	}
	switch w.text[w.pos] {
	case '{':
		w.pos++
		return w.members()
	case '[':
		w.pos++
		return w.elements()
	case '"':
		return w.str()
	}
	for w.pos < w.at && w.pos < len(w.text) && !strings.ContainsRune(",]} \t\r\n", rune(w.text[w.pos])) {
		w.pos++
	}
	return w.pos < w.at
}

// str skips a string.
func (w *walker) str() bool {
	for w.pos++; w.pos < w.at && w.pos < len(w.text); w.pos++ {
		switch w.text[w.pos] {
		case '\\':
			w.pos++
		case '"':
			w.pos++
			return w.pos <= w.at
		}
	}
	return false
}

func (w *walker) members() bool {
	for w.skipTo(',') {
		if w.text[w.pos] == '}' {
			w.pos++
			return true
		}
		d := Decoder{text: w.text, pos: w.pos}
		if !w.str() {
			return false
		}
		w.push(member(d.scan(true)))
		if !w.skipTo(':') || !w.value() {
			return false
		}
		w.pop()
	}
	return false
}

func (w *walker) elements() bool {
	for i := 0; ; i++ {
		from := w.pos
		if !w.skipTo(',') {
			if w.startsElement(from, i) {
				w.push("[" + strconv.Itoa(i) + "]")
			}
			return false
		}
		if w.text[w.pos] == ']' {
			w.pos++
			return true
		}
		w.push("[" + strconv.Itoa(i) + "]")
		if !w.value() {
			return false
		}
		w.pop()
	}
}

// startsElement reports whether element i begins where the walk ended, rather
// than that something else is wrong there.
func (w *walker) startsElement(from, i int) bool {
	after := i == 0 || strings.Contains(w.text[from:w.pos], ",")
	return after && w.pos < len(w.text) && w.text[w.pos] != ']' && w.text[w.pos] != ','
}
