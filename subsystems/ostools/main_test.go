package ostools_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newOS returns the tools at a new directory with these files.
func newOS(t testing.TB, files map[string]string) (*ostools.OS, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	fill(t, root, files)
	o, err := ostools.New(root, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, o.Close()) })
	return o, root
}

func fill(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func content(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(data)
}

// failure returns the kind and the text of a tool's failure.
func failure(t testing.TB, err error) (message.FailureKind, string) {
	t.Helper()
	var te *hook.ToolError
	require.ErrorAs(t, err, &te)
	return te.Kind, te.Text
}

var env = &hook.Env{}

func granted(g hook.Grant) *hook.Env { return &hook.Env{Grant: g} }
