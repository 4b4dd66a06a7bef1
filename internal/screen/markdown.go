package screen

import "strings"

// Markdown renders a stream of Markdown on a terminal: headings, bold, italic, struck out,
// code, lists, quotes, rules and links. Everything else, for example tables, stays source.
// It only appends: it holds possible markup back until that is decided, at the latest at
// the end of its line. The output does not depend on how the stream was cut.
//
// It does not wrap lines: the terminal does, also when it is resized. The text cannot
// control the terminal. The zero Markdown shows the source.
type Markdown struct {
	// Color: render the source.
	Color bool

	source Stream
	// held is safe text that waits for more.
	held string
	// inText: the beginning of the line was shown.
	inText bool
	// quoted: the line is part of a quote.
	quoted bool
	// fence is the fence of the open code block; "" outside one.
	fence string
	// prev is the last character shown on the line.
	prev  rune
	style styles
}

// Add adds the next part of the text, and returns the output decided by now.
func (m *Markdown) Add(s string) Text {
	m.held += m.source.Add(s).s
	return Text{m.show(false)}
}

// End ends the text and returns the rest of the output. Another text may follow.
func (m *Markdown) End() Text {
	m.held += m.source.End().s
	out := m.show(true)
	out += m.endStyles()
	*m = Markdown{Color: m.Color}
	return Text{out}
}

// show returns the output for the decided part of the held text, all of it if over.
func (m *Markdown) show(over bool) string {
	if !m.Color {
		out := m.held
		m.held = ""
		return out
	}
	var sb strings.Builder
	for m.held != "" {
		end := strings.IndexByte(m.held, '\n')
		line, complete := m.held, over
		if end >= 0 {
			line, complete = m.held[:end], true
		}
		n := m.line(&sb, line, complete)
		m.held = m.held[n:]
		if n < len(line) || end < 0 {
			break
		}
		m.newline(&sb)
		m.held = m.held[1:]
	}
	return sb.String()
}

// line renders the decided part of a line and returns its length: all of it if the line is
// complete.
func (m *Markdown) line(sb *strings.Builder, line string, complete bool) int {
	done := 0
	for !m.inText {
		n, decided := m.begin(sb, line[done:], complete)
		if !decided {
			return done
		}
		done += n
	}
	if m.fence != "" {
		sb.WriteString(line[done:])
		return len(line)
	}
	s := scanner{style: &m.style, out: sb, prev: m.prev}
	done += s.scan(line[done:], complete)
	m.prev = s.prev
	return done
}

func (m *Markdown) newline(sb *strings.Builder) {
	sb.WriteString(m.endStyles() + "\n")
	m.inText, m.quoted, m.prev = false, false, 0
}

func (m *Markdown) endStyles() string {
	return m.style.off(Cyan) + m.style.off(Underline) + m.style.off(Bold)
}

// begin renders the mark at the beginning of a line, or behind that of a quote, and returns
// its length. decided is false while more text may change the mark.
func (m *Markdown) begin(sb *strings.Builder, line string, complete bool) (n int, decided bool) {
	if m.fence != "" {
		return m.inFence(sb, line, complete)
	}
	rest := strings.TrimLeft(line, " \t")
	b := beginning{m: m, sb: sb, indent: line[:len(line)-len(rest)], rest: rest, complete: complete}
	switch {
	case len(b.indent) > maxHeld || rest == "" && complete:
		return b.text()
	case rest == "":
		return 0, false
	}
	b.run = len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	if !complete && b.run == len(rest) && len(rest) <= maxHeld && strings.IndexByte("#`~>-*_+", rest[0]) >= 0 {
		return 0, false
	}
	switch rest[0] {
	case '#':
		return b.headingMark()
	case '`', '~':
		return b.fenceMark()
	case '>':
		return b.quoteMark()
	case '-', '*', '_', '+':
		return b.listMark()
	}
	return b.text()
}

// inFence begins a line of a code block, or ends the block.
func (m *Markdown) inFence(sb *strings.Builder, line string, complete bool) (int, bool) {
	trimmed := strings.TrimLeft(line, " \t")
	rest := strings.TrimLeft(trimmed, m.fence[:1])
	blank := strings.TrimRight(rest, " \t") == "" && len(line) <= maxHeld
	if blank && !complete {
		return 0, false
	}
	m.inText = true
	if !blank || len(trimmed)-len(rest) < len(m.fence) {
		sb.WriteString(m.style.on(Cyan))
		return 0, true
	}
	sb.WriteString(m.style.on(Dim) + line + m.style.off(Dim))
	m.fence = ""
	return len(line), true
}

// beginning is the beginning of one line: its indent and the rest, with a run of one
// character.
type beginning struct {
	m            *Markdown
	sb           *strings.Builder
	indent, rest string
	run          int
	complete     bool
}

// text begins a line without a mark.
func (b beginning) text() (int, bool) {
	b.m.inText = true
	b.sb.WriteString(b.indent)
	return len(b.indent), true
}

func (b beginning) headingMark() (int, bool) {
	after := b.rest[b.run:]
	text := strings.TrimLeft(after, " ")
	switch {
	case b.run > 6 || after != "" && after[0] != ' ' || len(after)-len(text) > maxHeld:
		return b.text()
	case text == "" && !b.complete:
		return 0, false
	}
	b.m.inText = true
	b.sb.WriteString(b.m.style.on(Bold))
	if b.run == 1 {
		b.sb.WriteString(b.m.style.on(Underline))
	}
	return len(b.indent) + len(b.rest) - len(text), true
}

// fenceMark begins a code block. Within a quote it is text, because the end of such a block
// could not be found.
func (b beginning) fenceMark() (int, bool) {
	switch {
	case b.run < 3 || len(b.rest) > maxHeld || b.m.quoted:
		return b.text()
	case b.rest[0] == '`' && strings.Contains(b.rest[b.run:], "`"):
		return b.text()
	case !b.complete:
		return 0, false
	}
	b.m.inText = true
	b.m.fence = b.rest[:b.run]
	b.sb.WriteString(b.indent + b.m.style.on(Dim) + b.rest + b.m.style.off(Dim))
	return len(b.indent) + len(b.rest), true
}

func (b beginning) quoteMark() (int, bool) {
	b.m.quoted = true
	b.sb.WriteString(b.indent + b.m.style.on(Dim) + "│ " + b.m.style.off(Dim))
	n := len(b.indent) + 1
	if strings.HasPrefix(b.rest[1:], " ") {
		n++
	}
	return n, true
}

// rule is shown for a line of three or more -, * or _.
const rule = "────────────────"

func (b beginning) listMark() (int, bool) {
	mark := b.rest[:1]
	if mark != "+" && len(b.rest) <= maxHeld && strings.Trim(b.rest, mark+" \t") == "" {
		if !b.complete {
			return 0, false
		}
		if strings.Count(b.rest, mark) >= 3 {
			b.m.inText = true
			b.sb.WriteString(b.m.style.on(Dim) + rule + b.m.style.off(Dim))
			return len(b.indent) + len(b.rest), true
		}
	}
	if mark == "_" || b.run > 1 || len(b.rest) > 1 && b.rest[1] != ' ' {
		return b.text()
	}
	b.m.inText = true
	b.sb.WriteString(b.indent + "•")
	return len(b.indent) + 1, true
}
