package ostools_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

func section(text message.JSON) *hook.AgentConfig {
	cfg := hook.AgentConfig{Name: "a"}.WithSection("ostools", text)
	return &cfg
}

func TestSection(t *testing.T) {
	t.Parallel()
	o, _ := newOS(t, nil)
	tests := []struct {
		name  string
		text  message.JSON
		want  hook.Scope
		error string
	}{
		{"none is all", "", hook.Scope{}, ""},
		{"empty section is all", "{}", hook.Scope{}, ""},
		{"null is all", `{"tools":null}`, hook.Scope{}, ""},
		{"empty list is none", `{"tools":[]}`, hook.Scope{Tools: []string{}}, ""},
		{"some", `{"tools":["read","grep"]}`, hook.Scope{Tools: []string{"read", "grep"}, Line: "Of the tools for files and commands: read, grep."}, ""},
		{"unknown tool", `{"tools":["sudo"]}`, hook.Scope{Tools: []string{"sudo"}}, `agent "a": section ostools: tools: there is no "sudo"; there are bash, edit, glob, grep, read, write`},
		{"unknown key", `{"tool":["read"]}`, hook.Scope{Tools: []string{}}, `agent "a": section ostools: tool: unknown key; known are tools`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := section(tt.text)
			_, err := o.OnBuildAgent(t.Context(), *cfg)
			if tt.error != "" {
				assert.EqualError(t, err, tt.error)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, o.ScopedTools(cfg))
		})
	}
	assert.Empty(t, o.ScopedTools(section(`{"tool":[]}`)).Tools)
	assert.NotNil(t, o.ScopedTools(section(`{"tool":[]}`)).Tools, "a section that cannot be read gives nothing")
	assert.Equal(t, "Of the tools for files and commands: x_read.", o.ScopedTools(section(`{"tools":["read"]}`).Prefixed("x_")).Line)
}

func TestSystemPromptIsHonestAboutBash(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, nil)
	all := o.SystemPrompt(section(""))
	assert.Contains(t, all, "read, write, edit, glob, grep work below "+root+" and nowhere else")
	assert.Contains(t, all, "It is not confined to that directory")
	assert.NotContains(t, o.SystemPrompt(section(`{"tools":["read"]}`)), "bash")
	assert.NotContains(t, o.SystemPrompt(&hook.AgentConfig{Tools: []string{"read", "edit"}}), "bash")
	assert.Contains(t, o.SystemPrompt(section("").Prefixed("x_")), "x_bash starts")
	only := o.SystemPrompt(section(`{"tools":["bash"]}`))
	assert.NotContains(t, only, "Files:")
	assert.NotContains(t, only, "edit")
	assert.Empty(t, o.SystemPrompt(section(`{"tools":[]}`)))
}

func TestNewRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, map[string]string{"file": ""})
	for _, root := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "file")} {
		_, err := ostools.New(root, nil)
		assert.ErrorContains(t, err, "ostools: root: ")
	}
}

// A root that is given through a link is known by both of its paths.
func TestRootThroughALink(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	fill(t, base, map[string]string{"real/f": "x"})
	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink("real", link))
	o, err := ostools.New(link, nil)
	require.NoError(t, err)
	defer o.Close()
	assert.Equal(t, filepath.Join(base, "real"), o.Root())
	for _, path := range []string{"f", filepath.Join(link, "f"), filepath.Join(base, "real", "f")} {
		_, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
		assert.NoError(t, err)
	}
	require.NoError(t, o.Close())
	_, err = o.Read(t.Context(), env, ostools.ReadInput{FilePath: "f"})
	kind, _ := failure(t, err)
	assert.Equal(t, message.FailOperation, kind, "after Close")
}

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(t *testing.T) hook.Hook {
		o, err := ostools.New(t.TempDir(), nil)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, o.Close()) })
		return o
	}, &hooktest.Options{
		Agent: *section(`{"tools":["bash","read","write","edit","glob","grep"]}`), Golden: "testdata/descriptor.txt", Update: *update,
	})
}
