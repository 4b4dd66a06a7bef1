package counterpart

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const model = `rules:
  - when: {user: Write, step: 1}
    calls: [{tool: write, args: {file_path: new.txt, content: some text}}]
  - when: {user: Write}
    say: "It went so: ${result}"
  - when: always
    say: "You said: ${user}"
`

// TestAGeneratedClientConverses: ogen makes a client of the document, which sends messages, reads answers as JSON and as events, and answers an
// approval, at the daemon itself.
func TestAGeneratedClientConverses(t *testing.T) {
	t.Parallel()
	talk, daemon := generate(t), build(t)
	project, state := t.TempDir(), t.TempDir()
	require.NoError(t, os.Chmod(state, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(project, "model.yaml"), []byte(model), 0o600))
	env := append(os.Environ(), "GRAPNEL_HOME="+state, "HOME="+t.TempDir())
	in := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), daemon, args...) // the cleanup ends it
		cmd.Dir, cmd.Env, cmd.Stderr = project, env, os.Stderr
		return cmd
	}
	token, err := in("token", "create", "ogen", "--scope", "read,converse,approve").Output()
	require.NoError(t, err)

	serve := in("serve", "--model", "script:model.yaml", "--listen", "127.0.0.1:0")
	out, err := serve.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, serve.Start())
	t.Cleanup(func() {
		assert.NoError(t, serve.Process.Signal(os.Interrupt))
		assert.NoError(t, serve.Wait())
	})
	var url string
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		url = regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	}
	require.NotEmpty(t, url)

	cmd := exec.CommandContext(t.Context(), talk, url)
	cmd.Env = append(os.Environ(), "GRAPNEL_TOKEN="+strings.TrimSpace(string(token)))
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	require.NoError(t, cmd.Run(), "%s", &wrong)
	assert.Contains(t, said.String(), "location true\nuser Hello\nassistant You said: Hello\n")
	for _, kind := range []string{"turn_start", "approval_asked", "approval_given", "turn_end"} {
		assert.Contains(t, said.String(), `"kind":"`+kind+`"`)
	}
	assert.Contains(t, said.String(), "It went so: ")
	assert.True(t, strings.HasSuffix(said.String(), "failure not_found\n"), said.String())
	assert.FileExists(t, filepath.Join(project, "new.txt"))
}

// generate makes the client in a directory of this module, and returns the program that uses it.
func generate(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "generated-")
	dir = filepath.Base(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	text, err := os.ReadFile(filepath.Join("testdata", "converse.go.txt"))
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte(`"GENERATED/`), []byte(`"github.com/grapnel-go/grapnel/client/counterpart/`+dir+`/`))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), text, 0o600))
	run(t, ".", "go", "tool", "ogen", "--target", filepath.Join(dir, "daemon"), "--package", "daemon", "--config", "ogen.yml", "../../docs/openapi.yaml")
	program := filepath.Join(t.TempDir(), "converse")
	run(t, ".", "go", "build", "-o", program, "./"+dir)
	return program
}

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "grapnel")
	run(t, filepath.Join("..", ".."), "go", "build", "-o", program, "./cmd/grapnel")
	return program
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
