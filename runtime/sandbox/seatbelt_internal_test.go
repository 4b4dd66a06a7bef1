package sandbox

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSeatbelt reads the profile for macOS as a text: nobody has run it.
func TestSeatbelt(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s, err := New(Options{Project: dir, State: filepath.Join(t.TempDir(), "state"), Hidden: []string{"/secret"}, Environ: []string{"HOME=/Users/a \"b\"", "PATH=/usr/bin"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })

	text := s.seatbelt(Grant{Write: []string{"/granted"}}, "/temp", 8080)
	for _, want := range []string{
		"(version 1)\n(deny default)\n",
		`(allow file-write* (subpath "/temp") (subpath "/granted"))`,
		`(allow file-write* (subpath "` + dir + `"))`,
		`(deny file-read* file-write* (subpath "/secret")`,
		`(subpath "/Users/a \"b\"/.rustup")`,
		`\\.git$")`, `\\.git/(modules/.*/)?hooks(/.*)?$")`, `\\.vscode(/.*)?$")`,
		`(allow network-outbound (remote ip "localhost:8080"))`,
	} {
		assert.Contains(t, text, want)
	}
	assert.Less(t, strings.Index(text, `(allow file-write* (subpath "`+dir+`"))`), strings.Index(text, `\\.git$")`), "the last rule that fits counts")
	assert.NotContains(t, text, "network-bind")

	text = s.seatbelt(Grant{ReadOnly: true}, "/temp", 0)
	assert.NotContains(t, text, `(allow file-write* (subpath "`+dir+`"))`)
	assert.NotContains(t, text, "network-outbound")
}
