package providertest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

var update = flag.Bool("update", false, "write the code and the tables of docs/providers.md")

const page = "../../../docs/providers.md"

// hold compares a part of the page with what it should be, or writes it.
func hold(t *testing.T, part, want string) {
	t.Helper()
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	from, to := "<!-- "+part+": written by go test ./runtime/provider/providertest -update -->\n", "<!-- end of "+part+" -->\n"
	head, rest, ok := strings.Cut(string(data), from)
	require.True(t, ok, from)
	got, tail, ok := strings.Cut(rest, to)
	require.True(t, ok, to)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+from+want+to+tail), 0o644))
		return
	}
	assert.Equal(t, want, got, "go test ./runtime/provider/providertest -run Docs -update writes it")
}

// code returns a part of a file of this package, as a block of the page.
func code(t *testing.T, file, from, to string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(source), from)
	require.True(t, ok, from)
	if to != "" {
		text, _, ok = strings.Cut(text, to)
		require.True(t, ok, to)
	}
	return "\n```go\n" + strings.TrimSpace(from+text) + "\n```\n\n"
}

// TestDocsFirst: the first provider of the page is the one that is tested, and has at most
// 30 lines.
func TestDocsFirst(t *testing.T) {
	first := code(t, "first_test.go", "// First asks", "func ExampleRun_first")
	assert.LessOrEqual(t, strings.Count(strings.TrimSpace(first), "\n")-1, 30)
	hold(t, "first", first)
}

// TestDocsBroken: the rules that the first provider breaks.
func TestDocsBroken(t *testing.T) {
	w := gateway()
	w.Lacks = providertest.Lacks{Tools: true, Reasoning: true, Signatures: true, Refusals: true}
	w.Open = func(s providertest.Server) provider.Provider { return First(s.URL+"/chat", s.Client()) }
	var want strings.Builder
	want.WriteString("\n| rule | what the kit finds |\n|---|---|\n")
	said := map[string]bool{}
	for _, v := range providertest.Check(t.Context(), w) {
		if !said[v.Rule] {
			fmt.Fprintf(&want, "| `%s` | %s |\n", v.Rule, strings.ReplaceAll(v.Found, "|", `\|`))
		}
		said[v.Rule] = true
	}
	want.WriteString("\n")
	hold(t, "broken", want.String())
}

// TestDocsGateway: the provider that keeps all rules, and its wire, are those that are tested.
func TestDocsGateway(t *testing.T) {
	hold(t, "gateway", code(t, "gateway_test.go", "// Gateway returns", ""))
	hold(t, "wire", code(t, "wire_test.go", "func TestConformance", "func seconds"))
}

// TestDocsRules: the page's table of rules is made of Rules.
func TestDocsRules(t *testing.T) {
	var want strings.Builder
	want.WriteString("\n| rule | what breaks without it |\n|---|---|\n")
	for _, r := range providertest.Rules() {
		fmt.Fprintf(&want, "| `%s` | %s |\n", r.ID, r.Reason)
	}
	want.WriteString("\n")
	hold(t, "rules", want.String())
}

// TestDocsLinks: everything that the page points at is there.
func TestDocsLinks(t *testing.T) {
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	links := regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(string(data), -1)
	assert.NotEmpty(t, links)
	for _, m := range links {
		_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
		assert.NoError(t, err)
	}
}
