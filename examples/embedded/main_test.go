package main_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "run", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "Hello, I follow a script.\nYou said: And again.\n", string(out))
}

// TestLinksLittle shows what an embedder does not pay for.
func TestLinksLittle(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	const module = "github.com/grapnel-go/grapnel/"
	allowed := []string{
		module + "examples/embedded", module + "hook", module + "composite", module + "runtime",
		module + "internal/history", module + "internal/states", module + "internal/view",
		module + "internal/spell", module + "internal/estimate", module + "internal/character", module + "internal/fence",
		module + "internal/quote", module + "internal/conffile", module + "internal/yamldoc", module + "internal/tenant",
		module + "internal/schema", "github.com/google/jsonschema-go", // arguments of tools that clients run
		"github.com/sourcegraph/conc", "go.yaml.in/yaml/v3",
	}
	var paths []string
	for path := range strings.FieldsSeq(string(out)) {
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") || strings.HasPrefix(path, "vendor/") {
			continue // the standard library
		}
		paths = append(paths, path)
		known := false
		for _, a := range allowed {
			known = known || path == a || strings.HasPrefix(path, a+"/")
		}
		assert.True(t, known, "%s is linked into a program that only imports the runtime", path)
	}
	assert.Contains(t, paths, module+"runtime", "the list is the right one")
	for _, never := range []string{"subsystems", "sqlite", "cobra", "modelcontextprotocol", "anthropic", "openai", "genai", "goleak", "testify"} {
		assert.NotContains(t, strings.Join(paths, "\n"), never)
	}
}
