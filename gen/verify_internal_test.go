package gen

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// Output that does not compile is HG099 with the line of the text that was not written; output that compiles is not.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module github.com/grapnel-go/grapnel\n\ngo 1.26\n",
		"hook/hook.go": "package hook\n",
		"p/p.go":       "package p\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	listing, problems, err := load.List(t.Context(), dir, []string{"./..."})
	require.NoError(t, err)
	require.Empty(t, problems)
	r := run{dir: dir, listing: listing}
	changes := []Change{{filepath.Join(dir, "p", load.Output), Missing}}
	verify := func(body string) []string {
		output := map[string][]byte{"github.com/grapnel-go/grapnel/p": []byte(load.Header + "\n\npackage p\n\n" + body)}
		problems, err := r.verify(t.Context(), output, changes)
		require.NoError(t, err)
		var out []string
		for _, p := range problems {
			require.Len(t, p.Notes, 1)
			out = append(out, p.Error()+" | "+p.Notes[0].Message)
		}
		return out
	}
	assert.Empty(t, verify("func f() int { return 1 }\n"))
	assert.Equal(t, []string{
		"error HG099: internal error: generated code does not compile: p/hook_gen.go:5:23: undefined: missing; nothing was written | func f() int { return missing }",
	}, verify("func f() int { return missing }\n"))
}
