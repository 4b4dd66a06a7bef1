package mcp

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// The part of a server's error output that becomes part of the reason for its loss.
const (
	lastLines = 5
	lastBytes = 600
)

// reason returns the error with the last lines of the process's error output. It is for the
// operator: a model gets the error alone.
func (s *server) reason(err error) string {
	var died *conn.ServerError
	if errors.As(err, &died) {
		if last := s.lastOf(died.Stderr); last != "" {
			return err.Error() + "; the end of its stderr: " + last
		}
	}
	return err.Error()
}

// lastOf returns the last lines as one line, without secrets.
func (s *server) lastOf(stderr string) string {
	return tail(strings.Join(s.cfg.lastLines(stderr, lastLines), " | "), lastBytes)
}

// stderrKept is how much of an error output is kept, in bytes; of more, its beginning may be a part of a secret.
const stderrKept = 16 << 10

// lastLines returns the last n lines that are not blank, without secrets.
func (s *Server) lastLines(stderr string, n int) []string {
	if _, whole, more := strings.Cut(stderr, "\n"); more && len(stderr) >= stderrKept {
		stderr = whole
	}
	text := s.without(strings.ToValidUTF8(stderr, "�"))
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

// without returns the text without the secrets of the entry, and without words that look like one.
func (s *Server) without(text string) string {
	return wordForm.ReplaceAllStringFunc(s.hidden(text), func(word string) string {
		if secretForm.MatchString(word) {
			return hiddenSecret
		}
		return word
	})
}

// hidden returns the text without the secrets of the entry.
func (s *Server) hidden(text string) string {
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, hiddenSecret)
	}
	return text
}

// place returns the command with its arguments, or the URL without its query. An argument that looks like a secret, by its name
// or its form, is hidden.
func (s *Server) place() string {
	if s.URL != "" {
		base, _, query := strings.Cut(maskedURL(s.URL), "?")
		if query {
			base += "?…"
		}
		return s.hidden(base)
	}
	words := []string{s.Command}
	flag := ""
	for _, arg := range s.Args {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case given:
			arg = name + "=" + masked(name, value)
		case !strings.HasPrefix(arg, "-"):
			arg = masked(flag, arg)
		}
		words, flag = append(words, arg), ""
		if !given && strings.HasPrefix(arg, "-") {
			flag = arg
		}
	}
	return s.hidden(strings.Join(words, " "))
}

const hiddenSecret = "[hidden]"

// wordForm matches words of a line that may be secrets.
var wordForm = regexp.MustCompile(`[-+_.A-Za-z0-9]+`)

// secrets returns the values that must not be shown, the longest first: those of the user's
// variables, and those of the environment that look like secrets.
func (s *Server) secrets() []string {
	out := slices.Clone(s.expanded)
	for name, value := range s.Env {
		if masked(name, value) != value {
			out = append(out, value)
		}
	}
	out = slices.DeleteFunc(out, func(value string) bool { return len(value) < 4 }) // a shorter one is in many texts
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// tail returns at most the last n bytes, from the border of a rune.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return "…" + text[at:]
}
