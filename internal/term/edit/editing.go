package edit

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/screen"
)

// escapeWait is how long to wait for the rest of a key that begins with ESC.
const escapeWait = 50 * time.Millisecond

// editing is one line that is being edited.
type editing struct {
	e    *Editor
	line Line
	text text
	// leave restores the terminal.
	leave func() error

	// at is the shown entry of the history; draft is the typed text without one.
	at    int
	draft string
	// pasting is the pasted text so far; nil outside a paste.
	pasting *bytes.Buffer
}

func (s *editing) run(ctx context.Context) (string, error) {
	for {
		done, err := s.keys()
		if done || err != nil {
			return s.text.String(), err
		}
		s.draw()
		wait := time.Duration(0)
		if len(s.e.typed) > 0 && s.e.typed[0] == esc {
			wait = escapeWait
		}
		before := len(s.e.typed)
		if err := s.e.more(ctx, wait); err != nil {
			return "", err
		}
		if wait > 0 && len(s.e.typed) == before {
			s.e.typed = nil // the key ESC, or half of another one
		}
	}
}

// keys handles the complete keys typed so far.
func (s *editing) keys() (done bool, err error) {
	for len(s.e.typed) > 0 {
		if s.pasting != nil {
			if !s.paste() {
				return false, nil
			}
			continue
		}
		k, r, n := decode(s.e.typed)
		if n == 0 {
			return false, nil
		}
		s.e.typed = s.e.typed[n:]
		if done, err := s.key(k, r); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// paste takes pasted text; false if its end has not come yet. Ctrl-C alone ends it too, in
// case the terminal never does.
func (s *editing) paste() bool {
	typed := s.e.typed
	end, skip := bytes.Index(typed, pasteEnd), len(pasteEnd)
	if end < 0 && string(typed) == "\x03" {
		end, skip = 0, 1
	}
	if end < 0 {
		keep := len(pasteEnd) - 1
		for !bytes.HasSuffix(typed, pasteEnd[:keep]) {
			keep--
		}
		s.pasting.Write(typed[:len(typed)-keep])
		s.e.typed = typed[len(typed)-keep:]
		return false
	}
	s.pasting.Write(typed[:end])
	s.e.typed = typed[end+skip:]
	s.edit(func(t *text) { t.insert(strings.ToValidUTF8(s.pasting.String(), "\ufffd")) })
	s.pasting = nil
	return true
}

// edit changes the text; Write may draw it at any time.
func (s *editing) edit(change func(t *text)) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	change(&s.text)
}

func (s *editing) draw() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.e.drawLocked(false)
}

// key handles one key. An error ends the line without a result.
func (s *editing) key(k key, r rune) (done bool, err error) {
	empty := len(s.text.runes) == 0
	switch k {
	case keyEnter:
		before, more := continued(s.text.String())
		if !more || s.text.at < len(s.text.runes) {
			return true, nil
		}
		s.edit(func(t *text) { t.set(before + "\n") })
	case keyEOF:
		if empty {
			return true, io.EOF
		}
		s.edit(func(t *text) { t.remove(t.at, t.after(t.at)) })
	case keyInterrupt:
		s.edit(func(t *text) { t.set(t.String() + "^C") })
		if empty || s.line.Question {
			return true, ErrInterrupt
		}
		s.e.finish()
		s.text.set("")
		s.at = s.line.History.len()
		s.e.begin(s)
	case keySuspend:
		return false, s.suspend()
	case keyPaste:
		s.pasting = &bytes.Buffer{}
	case keyTab:
		s.complete()
	case keyUp, keyDown:
		s.edit(func(t *text) { s.vertical(k == keyDown) })
	case keyClear:
		s.e.mu.Lock()
		s.e.put("\x1b[H\x1b[2J")
		s.e.view.row, s.e.view.widths = 0, nil
		s.e.mu.Unlock()
	default:
		s.edit(func(t *text) { t.key(k, r) })
	}
	return false, nil
}

// key handles the keys that only change the text or the cursor's place in it.
func (t *text) key(k key, r rune) {
	switch k {
	case keyRune:
		t.insert(string(r))
	case keyNewline:
		t.insert("\n")
	case keyLeft:
		t.at = t.before(t.at)
	case keyRight:
		t.at = t.after(t.at)
	case keyHome:
		t.at = t.lineStart(t.at)
	case keyEnd:
		t.at = t.lineEnd(t.at)
	case keyWordLeft:
		t.at = t.wordBefore(t.at)
	case keyWordRight:
		t.at = t.wordAfter(t.at)
	case keyBackspace:
		t.remove(t.before(t.at), t.at)
	case keyDelete:
		t.remove(t.at, t.after(t.at))
	case keyCutWord:
		t.take(t.wordBefore(t.at), t.at)
	case keyCutBlank:
		t.take(t.blankBefore(t.at), t.at)
	case keyCutWordRight:
		t.take(t.at, t.wordAfter(t.at))
	case keyCutStart:
		t.take(t.lineStart(t.at), t.at)
	case keyCutEnd:
		t.take(t.at, t.lineEnd(t.at))
	case keyPutBack:
		t.insert(string(t.cut))
	}
}

// vertical goes to the line above or below, or from the first or the last one to
// another entry of the history.
func (s *editing) vertical(down bool) {
	if s.text.vertical(down) {
		return
	}
	h := s.line.History
	to := s.at - 1
	if down {
		to = s.at + 1
	}
	if to < 0 || to > h.len() {
		return
	}
	if s.at == h.len() {
		s.draft = s.text.String()
	}
	s.at = to
	if to == h.len() {
		s.text.set(s.draft)
	} else {
		s.text.set(h.entry(to))
	}
}

// suspend restores the terminal while the process is stopped.
func (s *editing) suspend() error {
	s.e.finish()
	// Show the line again in any case: Read ends it.
	defer s.e.begin(s)
	if err := s.leave(); err != nil {
		return err
	}
	suspend()
	_, err := s.e.enter() // the first leave will do
	return err
}

// complete adds the common beginning of all words, or lists the words if that adds nothing.
func (s *editing) complete() {
	if s.line.Complete == nil {
		return
	}
	before := string(s.text.runes[:s.text.at])
	from, words := s.line.Complete(before)
	if len(words) == 0 {
		return
	}
	common := words[0].Text
	for _, w := range words[1:] {
		for !strings.HasPrefix(w.Text, common) {
			common = common[:len(common)-1]
		}
	}
	common = strings.ToValidUTF8(common, "")
	if len(words) == 1 {
		common += " "
	}
	if typed := before[from:]; len(words) == 1 || len(common) > len(typed) {
		s.edit(func(t *text) {
			t.runes = slices.Delete(t.runes, t.at-len([]rune(typed)), t.at)
			t.at -= len([]rune(typed))
			t.insert(common)
		})
		return
	}
	s.list(words)
}

// maxListed limits the listed words.
const maxListed = 40

func (s *editing) list(words []Word) {
	rest := max(0, len(words)-maxListed)
	words = words[:len(words)-rest]
	widest := 0
	for _, w := range words {
		widest = max(widest, Width(w.Text))
	}
	var sb strings.Builder
	for _, w := range words {
		help := screen.Line(w.Help).String()
		row := "  " + w.Text + strings.Repeat(" ", widest-Width(w.Text)+2) + help
		sb.WriteString(Fit(row, s.e.Columns()-1) + "\n")
	}
	if rest > 0 {
		sb.WriteString("  …\n")
	}
	_, _ = s.e.Write([]byte(sb.String()))
}

// Fit cuts a line to a number of cells.
func Fit(line string, cells int) string {
	if Width(line) <= cells {
		return strings.TrimRight(line, " ")
	}
	runes, sum := []rune(line), 0
	for i := 0; i < len(runes); {
		n, w := cluster(runes, i)
		if sum += w; sum > max(1, cells)-1 {
			return string(runes[:i]) + "…"
		}
		i += n
	}
	return line
}
