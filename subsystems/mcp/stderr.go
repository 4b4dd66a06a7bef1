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
	text := strings.ToValidUTF8(stderr, "�")
	for _, secret := range s.cfg.secrets() {
		text = strings.ReplaceAll(text, secret, hiddenSecret)
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(lines) > lastLines {
		lines = lines[len(lines)-lastLines:]
	}
	for i, line := range lines {
		lines[i] = wordForm.ReplaceAllStringFunc(strings.TrimSpace(line), func(word string) string {
			if secretForm.MatchString(word) {
				return hiddenSecret
			}
			return word
		})
	}
	return tail(strings.Join(lines, " | "), lastBytes)
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
