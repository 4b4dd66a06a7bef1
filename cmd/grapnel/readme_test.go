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

var update = flag.Bool("update", false, "write the recorded output of the demo into docs/demo.md")

const root = "../.."

// pages are what a newcomer reads first. Their commands need neither a key nor a server.
var pages = []string{"README.md", "docs/demo.md", "docs/command.md", "docs/embedding.md"}

// modelsPage is about models of vendors, so most of its commands do need one.
const modelsPage = "docs/models.md"

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(data)
}

// block is a fenced block of a page and the text between it and the one
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

// TestREADMEQuotes: what the pages show as code is what the named file has.
func TestREADMEQuotes(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(((?:\.\./)?(?:examples|hook)/[^)]+)\)`)
	quotes := 0
	for _, name := range append(slices.Clone(pages), modelsPage) {
		for _, b := range blocks(page(t, name)) {
			if b.language != "go" {
				continue
			}
			quotes++
			links := link.FindAllStringSubmatch(b.before, -1)
			require.NotEmpty(t, links, "the text above a block names the file:\n%s", b.body)
			file := filepath.Join(root, filepath.Dir(name), links[len(links)-1][1])
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.NotEmpty(t, strings.TrimSpace(b.body))
			assert.Contains(t, string(data), b.body, "quoted from %s", file)
		}
	}
	assert.Equal(t, 7+10, quotes)
}

// TestDocsLinks: every file and every heading that the pages for operators and embedders point
// at is there.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	for _, name := range append(slices.Clone(pages), modelsPage, "docs/files.md", "docs/chat.md", "docs/fallback.md", "docs/compact.md", "docs/providers.md") {
		for _, m := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(page(t, name), -1) {
			path, heading, _ := strings.Cut(m[1], "#")
			file := filepath.Join(filepath.Dir(name), path)
			if path == "" {
				file = name
			}
			_, err := os.Stat(filepath.Join(root, file))
			if assert.NoError(t, err, name) && heading != "" {
				assert.Contains(t, anchors(page(t, file)), heading, "%s points at %s", name, m[1])
			}
		}
	}
}

// anchors are the names under which the headings of a page can be linked.
func anchors(text string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		out = append(out, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(name, ""))
	}
	return out
}

// TestREADMECommands runs every command of the pages, with a home directory of
// its own. `make test` is the exception: it would run this test again. CI runs
// the lines of the README's first block, in which it has to stand.
func TestREADMECommands(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	env := cleanEnv(t)
	ran := 0
	for _, name := range pages {
		for i, b := range blocks(page(t, name)) {
			if b.language != "sh" {
				continue
			}
			for line := range strings.Lines(b.body) {
				line = strings.TrimSpace(line)
				if line == "make test" {
					assert.Contains(t, page(t, ".ci/run"), "sed -n '/^## See it/,/^## /p' README.md")
					assert.Contains(t, page(t, "README.md"), "\n## See it\n")
					assert.Equal(t, "README.md", name)
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

// TestDemoPage compares the recorded output of the demo with a new one, but for
// times, paths and the order in which concurrent calls end. The README shows a part of it.
func TestDemoPage(t *testing.T) {
	needs.Namespaces(t)
	needs.Time(t)
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/grapnel", "demo")
	cmd.Dir, cmd.Env = root, cleanEnv(t)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := page(t, "docs/demo.md")
	recorded := transcript(t, text)
	if *update {
		shown := regexp.MustCompile(`/\S*/(grapnel-demo-)\d+`).ReplaceAllString(string(out), "/tmp/${1}3141592653")
		shown = regexp.MustCompile(`/\S*/\.local/`).ReplaceAllString(shown, "/home/you/.local/")
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs/demo.md"), []byte(strings.Replace(text, "```text\n"+recorded, "```text\n"+shown, 1)), 0o644))
		return
	}
	assert.Equal(t, shape(recorded), shape(string(out)), "if the demo has changed: go test ./cmd/grapnel -run TestDemoPage -update")
	assert.Subset(t, shape(recorded), shape(transcript(t, page(t, "README.md"))), "the README shows what the demo does not")
}

// transcript is the first block of a page that is a text.
func transcript(t *testing.T, text string) string {
	t.Helper()
	all := blocks(text)
	i := slices.IndexFunc(all, func(b block) bool { return b.language == "text" })
	require.GreaterOrEqual(t, i, 0)
	return all[i].body
}

// shape is a text without what differs from run to run; sorted, because
// concurrent calls end in any order.
func shape(text string) []string {
	for _, r := range [][2]string{
		{`(<1 ms|\d+ ms|\d+\.\d+ s)`, "TIME"},
		{`asking again in \S+`, "asking again"}, // a retry waits for a time of chance
		{`/\S*(grapnel-demo-\d+|/\.local/\S*)`, "PATH"},
		{`in the order [1-4 ]+;`, "in some order;"},
		{`\d+ tokens in, \d+ out`, "tokens"},
		{`\[[0-9a-f]{8}: what follows`, "[MARK: what follows"},
		{`about \d+ of`, "some of"},
		{`[ \t]+`, " "},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}
