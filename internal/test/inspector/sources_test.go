package inspector_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/node"
)

const module = "../../.."

// libraries are the files of web/lib, and those of the packages that they are.
var libraries = map[string]string{
	"lit-html.js":          "lit-html/lit-html.js",
	"async-directive.js":   "lit-html/async-directive.js",
	"directive-helpers.js": "lit-html/directive-helpers.js",
	"directive.js":         "lit-html/directive.js",
	"directives/keyed.js":  "lit-html/directives/keyed.js",
	"directives/live.js":   "lit-html/directives/live.js",
	"directives/ref.js":    "lit-html/directives/ref.js",
	"directives/repeat.js": "lit-html/directives/repeat.js",
	"marked.js":            "marked/lib/marked.esm.js",
	"purify.js":            "dompurify/dist/purify.es.mjs",
	"LICENSE.lit-html":     "lit-html/LICENSE",
	"LICENSE.marked":       "marked/LICENSE",
	"LICENSE.dompurify":    "dompurify/LICENSE",
}

// TestLibraries: the libraries of the page are what their packages ship, without the lines that name files which the page does not have.
func TestLibraries(t *testing.T) {
	packages := node.Packages(t)
	lib := filepath.Join(module, "web", "lib")
	assert.Empty(t, strangers(t, lib, packages))

	// Known bad: a byte more, and a file that is in no package.
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(lib)))
	alter(t, filepath.Join(dir, "purify.js"), func(s string) string { return s + "\n" })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "more.js"), nil, 0o600))
	assert.ElementsMatch(t, []string{"purify.js", "more.js"}, strangers(t, dir, packages))
}

// strangers returns the files of dir that are not what the packages ship.
func strangers(t *testing.T, dir, packages string) []string {
	t.Helper()
	var found []string
	for _, name := range filesOf(t, dir) {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		shipped, err := os.ReadFile(filepath.Join(packages, libraries[filepath.ToSlash(name)]))
		if err != nil || mapped.ReplaceAllString(string(shipped), "") != string(got) {
			found = append(found, name)
		}
	}
	return found
}

var mapped = regexp.MustCompile(`(?m)^//# sourceMappingURL=.*\n?`)

// TestTypes: the comments of the sources are right about what the sources do, and about what the API sends.
func TestTypes(t *testing.T) {
	dir := typed(t)
	assert.Empty(t, compiled(t, dir))

	alter(t, filepath.Join(dir, "views", "health.js"), func(s string) string {
		return strings.Replace(s, "h.started", "h.startled", 1)
	})
	assert.Contains(t, compiled(t, dir), "Property 'startled' does not exist", "known bad: the API has no such member")
}

// typed returns a copy of the sources with the types of the libraries and of the API.
func typed(t *testing.T) string {
	t.Helper()
	program, packages := node.Pinned(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(module, "web"))))
	for to, from := range libraries {
		if from := filepath.Join(packages, strings.TrimSuffix(from, ".js")+".d.ts"); strings.HasPrefix(from, filepath.Join(packages, "lit-html")) && strings.HasSuffix(to, ".js") {
			copyFile(t, from, filepath.Join(dir, "lib", strings.TrimSuffix(to, ".js")+".d.ts"))
		}
	}
	copyFile(t, filepath.Join(packages, "marked", "lib", "marked.d.ts"), filepath.Join(dir, "lib", "marked.d.ts"))
	copyFile(t, filepath.Join(packages, "dompurify", "dist", "purify.es.d.mts"), filepath.Join(dir, "lib", "purify.d.ts"))
	out, err := exec.CommandContext(t.Context(), program, filepath.Join(packages, ".bin", "openapi-typescript"),
		filepath.Join(module, "docs", "openapi.yaml"), "-o", filepath.Join(dir, "wire.d.ts")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// compiled returns what the compiler says against the sources in dir.
func compiled(t *testing.T, dir string) string {
	t.Helper()
	program, packages := node.Pinned(t)
	out, err := exec.CommandContext(t.Context(), program, filepath.Join(packages, ".bin", "tsc"), "-p", dir, "--skipLibCheck").CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), dir, "")
}

// forbidden is what makes markup or code of text, or an attribute that the policy forbids.
var forbidden = regexp.MustCompile(`\b(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|document\.write|unsafeHTML|unsafeSVG|unsafe-html|eval|DOMParser|srcdoc)\b` +
	`|new Function\b|javascript:|\bset(?:Timeout|Interval)\(\s*['"` + "`" + `]|[\s"']style=|[\s"']on[a-z]+=["'$]`)

// TestSources: no source of the page uses what is forbidden.
func TestSources(t *testing.T) {
	assert.Empty(t, uses(t, filepath.Join(module, "web")))

	dir := t.TempDir()
	bad := []string{
		"box.innerHTML = text", "box.outerHTML=text", "box.insertAdjacentHTML('beforeend', text)", "document.write(text)", "unsafeHTML(text)", "eval(text)",
		"new Function(text)", "html`<p style=${x}>`", "html`<p style=\"color: red\">`", "html`<a onclick=\"go()\">`", "html`<a onclick=${go}>`", "html`<a href=\"javascript:go()\">`",
		"setTimeout('go()')", "html`<iframe srcdoc=${x}>`",
	}
	for i, line := range bad {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.js", i)), []byte("ok();\n"+line+"\n"), 0o600))
	}
	assert.Len(t, uses(t, dir), len(bad), "known bad: each of these is found")
}

// uses returns the lines of the scripts and pages in dir that use what is forbidden. Comments may name it, and the libraries are not ours.
func uses(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	for _, name := range filesOf(t, dir) {
		if ext := filepath.Ext(name); ext != ".js" && ext != ".html" || strings.HasPrefix(filepath.ToSlash(name), "lib/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			if code := strings.TrimSpace(line); forbidden.MatchString(line) && !strings.HasPrefix(code, "//") && !strings.HasPrefix(code, "*") {
				found = append(found, fmt.Sprintf("%s:%d: %s", name, i+1, code))
			}
		}
	}
	return found
}

func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.FromSlash(name))
		}
		return err
	}))
	require.NotEmpty(t, names)
	return names
}

func alter(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := change(string(text))
	require.NotEqual(t, string(text), changed, "nothing to alter in %s", path)
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}
