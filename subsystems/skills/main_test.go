package skills_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

// folder writes files and returns their directory, without links.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	add(t, dir, files)
	return dir
}

func add(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// md is a SKILL.md with a name, a description and instructions.
func md(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n" + body + "\n"
}

func in(dirs ...string) *skills.Skills { return skills.New(&skills.Options{Dirs: dirs}) }

func agent(section message.JSON) *hook.AgentConfig {
	cfg := hook.AgentConfig{Name: "a"}.WithSection("skills", section)
	return &cfg
}

// scene is an agent in a conversation, with what was emitted there.
type scene struct {
	skills *skills.Skills
	host   *hooktest.Recorder
	turn   *hook.Turn
}

func at(s *skills.Skills, section message.JSON) scene {
	host := &hooktest.Recorder{}
	return scene{s, host, hooktest.Turn(hooktest.Conversation(agent(section), host), "")}
}

func (c scene) load(t testing.TB, name, args string) (message.ToolResult, error) {
	t.Helper()
	call := hooktest.Call(hooktest.Step(c.turn), "skill", "")
	return c.skills.Load(t.Context(), &hook.Env{Call: call}, skills.SkillInput{Name: name, Arguments: args})
}

// say sends a person's line through Preprocess.
func (c scene) say(t testing.TB, text string) []message.Message {
	t.Helper()
	out, err := c.skills.Preprocess(t.Context(), c.turn, message.TextInput(text))
	require.NoError(t, err)
	return out.Messages.Slice()
}

func names(all []skills.Skill) string {
	var out []string
	for _, k := range all {
		out = append(out, k.Name)
	}
	return strings.Join(out, " ")
}

func failure(t testing.TB, err error) (message.FailureKind, string) {
	t.Helper()
	var te *hook.ToolError
	require.ErrorAs(t, err, &te)
	return te.Kind, te.Text
}
