package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/screen/screentest"
)

// hostilePlace is a project in which the model, a file, a skill and an agent are
// hostile.
func hostilePlace(t *testing.T) string {
	dir := shortDir(t)
	h := inYAML(strings.ToValidUTF8(screentest.Hostile(), ""))
	model := `rules:
  - when: {user: go, step: 1}
    say: "say` + h + `"
    calls:
      - {tool: "tool` + h + `", args: {}}
      - {tool: bash, args: {command: "cat hostile #` + h + `"}}
      - {tool: read, args: {file_path: "` + h + `"}}
  - {when: always, say: "the end` + h + `"}
`
	for name, text := range map[string]string{
		"typed.yaml":                     model,
		"hostile":                        screentest.Hostile(),
		".grapnel/agents/odd.md":         "---\nname: odd\ndescription: " + `"` + h + `"` + "\nmodel: script:typed.yaml\n---\nBe odd.\n",
		".grapnel/skills/knots/SKILL.md": "---\nname: knots\ndescription: " + `"` + h + `"` + "\n---\nTie it.\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

// inYAML writes everything but letters as escapes.
func inYAML(s string) string {
	var sb strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) && r < utf8.RuneSelf || r == ' ' {
			sb.WriteRune(r)
		} else if r != 0 {
			fmt.Fprintf(&sb, `\U%08x`, r)
		}
	}
	return sb.String()
}

// edits are what the editor of chat writes.
var edits = regexp.MustCompile(`\x1b\[(\?2004[hl]|[KJ]|[0-9]+[AC])|\r`)

// TestNothingHostileReachesATerminal compares the bytes on a pseudo-terminal.
func TestNothingHostileReachesATerminal(t *testing.T) {
	t.Parallel()
	serve := func(t *testing.T, dir string) { daemonAt(t, dir) }
	for name, tt := range map[string]struct {
		before func(t *testing.T, dir string)
		args   []string
		ends   string
	}{
		"run":              {nil, []string{"run", "--model", "script:typed.yaml", "--hooks", "go"}, "\n— "},
		"run as JSON":      {nil, []string{"run", "--model", "script:typed.yaml", "--json", "go"}, `"kind":"outcome"`},
		"ask":              {serve, []string{"ask", "go"}, "\n— "},
		"chat":             {nil, []string{"chat", "--model", "script:typed.yaml"}, "\n— "},
		"agents":           {nil, []string{"agents"}, "odd"},
		"agents as JSON":   {nil, []string{"agents", "--json"}, `"odd"`},
		"tools":            {nil, []string{"tools"}, "bash"},
		"an agent's name":  {nil, []string{"run", "--agent", strings.ReplaceAll(screentest.Hostile(), "\x00", ""), "go"}, "grapnel: "},
		"a command's name": {nil, []string{strings.ReplaceAll(screentest.Hostile(), "\x00", "")}, "grapnel: "},
		"policy":           {nil, []string{"policy", "explain", "bash", `{"command": "ls ` + "\u202e" + `"}`}, "bash"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := hostilePlace(t)
			if tt.before != nil {
				tt.before(t, dir)
			}
			w := programAt(t, dir, "grapnel", tt.args...)
			if name == "chat" {
				w.Wait("\n>")
				w.Type("go\r")
			}
			raw := w.answerNo(tt.ends)
			if name == "chat" {
				w.Wait("\n>")
				w.Type("/help\r")
				w.Until("it helps", func(s string) bool { return strings.Contains(s, "knots") && strings.HasSuffix(s, "\n>") })
				w.Type("/agents\r")
				w.Until("it lists", func(s string) bool { return strings.Contains(s, "  odd") && strings.HasSuffix(s, "\n>") })
				w.Type("\u202epasted\r\x04")
				w.Until("it is said", func(s string) bool { return strings.Count(s, "\n— ") > 1 })
				raw = edits.ReplaceAllString(w.Raw(), "")
			}
			screentest.CheckFlow(t, screentest.Unstyled(strings.ReplaceAll(raw, "\r\n", "\n")))
			assert.NotContains(t, strings.ReplaceAll(raw, "\r\n", "\n"), "\n"+"tool\x1b")
		})
	}
}

// answerNo says no to every question until the screen has a text and the program
// has ended, and returns every byte.
func (w *typist) answerNo(ends string) string {
	answered := 0
	for {
		text := w.Until("it asks or ends", func(s string) bool {
			return strings.Count(s, allowIt) > answered || strings.Contains(s, ends)
		})
		if strings.Count(text, allowIt) <= answered {
			return w.Raw()
		}
		answered++
		w.Type("n\n")
	}
}
