package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var update = flag.Bool("update", false, "write the recorded output of the demo into README.md")

const root = "../.."

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	return string(data)
}

// block is a fenced block of the README and the text between it and the one
// before.
type block struct{ before, language, body string }

func blocks(text string) []block {
	var out []block
	fence := regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```\n")
	last := 0
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, block{text[last:m[0]], text[m[2]:m[3]], text[m[4]:m[5]]})
		last = m[1]
	}
	return out
}

// TestREADMEQuotes: what the README shows as code is what the named file has.
func TestREADMEQuotes(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(((?:examples|hook)/[^)]+)\)`)
	quotes := 0
	for _, b := range blocks(readme(t)) {
		if b.language != "go" {
			continue
		}
		quotes++
		links := link.FindAllStringSubmatch(b.before, -1)
		require.NotEmpty(t, links, "the text above a block names the file:\n%s", b.body)
		data, err := os.ReadFile(filepath.Join(root, links[len(links)-1][1]))
		require.NoError(t, err)
		assert.NotEmpty(t, strings.TrimSpace(b.body))
		assert.Contains(t, string(data), b.body, "quoted from %s", links[len(links)-1][1])
	}
	assert.Equal(t, 4, quotes)
}

// TestREADMELinks: every file that the README points at is there.
func TestREADMELinks(t *testing.T) {
	t.Parallel()
	for _, m := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(readme(t), -1) {
		assert.FileExists(t, filepath.Join(root, m[1]))
	}
}

// TestREADMECommands runs every command of the README, with a home directory of
// its own. `make test` is the exception: it would run this test again. CI runs
// the lines of the first block, in which it has to stand.
func TestREADMECommands(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	env := cleanEnv(t)
	ran := 0
	for i, b := range blocks(readme(t)) {
		if b.language != "sh" {
			continue
		}
		for line := range strings.Lines(b.body) {
			line = strings.TrimSpace(line)
			if line == "make test" {
				ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
				require.NoError(t, err)
				assert.Contains(t, string(ci), "sed -n '/^## See it/,/^## /p' README.md")
				assert.Contains(t, readme(t), "\n## See it\n")
				assert.Zero(t, i, "make test stands in the first block")
				continue
			}
			ran++
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Dir, cmd.Env = root, env
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s\n%s", line, out)
			assert.NotEmpty(t, out, line)
		}
	}
	assert.Greater(t, ran, 5)
}

// cleanEnv is the environment with an empty home directory, but Go's caches where
// they are.
func cleanEnv(t *testing.T) []string {
	t.Helper()
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "HOME=") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "GRAPNEL_HOME=")
	})
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS", "GOSUMDB"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return append(env, "HOME="+t.TempDir(), "TMPDIR="+t.TempDir())
}

// TestREADMEDemo compares the recorded output of the demo with a new one, but for
// times, paths and the order in which concurrent calls end.
func TestREADMEDemo(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/grapnel", "demo")
	cmd.Dir, cmd.Env = root, cleanEnv(t)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := readme(t)
	i := slices.IndexFunc(blocks(text), func(b block) bool { return b.language == "text" })
	require.GreaterOrEqual(t, i, 0)
	recorded := blocks(text)[i].body
	if *update {
		shown := regexp.MustCompile(`/\S*/(grapnel-demo-)\d+`).ReplaceAllString(string(out), "/tmp/${1}3141592653")
		shown = regexp.MustCompile(`/\S*/\.local/`).ReplaceAllString(shown, "/home/you/.local/")
		require.NoError(t, os.WriteFile(filepath.Join(root, "README.md"), []byte(strings.Replace(text, "```text\n"+recorded, "```text\n"+shown, 1)), 0o644))
		return
	}
	assert.Equal(t, shape(recorded), shape(string(out)), "if the demo has changed: go test ./cmd/grapnel -run TestREADMEDemo -update")
}

// shape is a text without what differs from run to run; sorted, because
// concurrent calls end in any order.
func shape(text string) []string {
	for _, r := range [][2]string{
		{`(<1 ms|\d+ ms|\d+\.\d+ s)`, "TIME"},
		{`/\S*(grapnel-demo-\d+|/\.local/\S*)`, "PATH"},
		{`in the order [1-4 ]+;`, "in some order;"},
		{`\d+ tokens in, \d+ out`, "tokens"},
		{`[ \t]+`, " "},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}
