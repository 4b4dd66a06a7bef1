package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/runtime"
)

// started keeps what skills add to the messages of people.
type started struct {
	hook.Nop
	texts []string
}

var _ hook.BeforeTurn = (*started)(nil)

func (s *started) BeforeTurn(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	for _, m := range in.Messages.All() {
		if m.Label == "skill" {
			s.texts = append(s.texts, m.Text())
		}
	}
	return hook.TurnDecision{}, nil
}

// sayTo sends a line to the agent and returns the outcome with the texts of all diagnostics, notes and started skills.
func sayTo(t *testing.T, o app.Options, agent, text string) (hook.TurnOutcome, string) {
	t.Helper()
	var told []string
	seen := &started{}
	o.Extra = []hook.Hook{seen}
	o.Note = func(text string) { told = append(told, text) }
	opened, err := app.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	a, err := opened.Register(t.Context(), agent, hook.AgentConfig{})
	require.NoError(t, err)
	conv, err := a.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	out, err := conv.Send(t.Context(), message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.Diagnostic {
			told = append(told, ev.Text)
		}
	}})
	require.NoError(t, err)
	return out, strings.Join(append(told, seen.texts...), "\n")
}

// TestSkillsOfAProjectChooseWithApproval: which model and which agent works, for exactly what was shown. Those of the user
// need none.
func TestSkillsOfAProjectChooseWithApproval(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		".grapnel/agents/boss.md":          "---\nmodel: script:boss.yaml\ndelegate: {agents: [mate]}\n---\nHi.\n",
		".grapnel/agents/mate.md":          "---\nmodel: script:mate.yaml\n---\nHi.\n",
		".grapnel/agents/other.md":         "---\nmodel: script:mate.yaml\n---\nHi.\n",
		".grapnel/skills/dear/SKILL.md":    "---\nname: dear\ndescription: D.\nmodel: script:dear.yaml\n---\nGo.\n",
		".grapnel/skills/crew/SKILL.md":    "---\nname: crew\ndescription: D.\ncontext: fork\nagent: mate\n---\nGo.\n",
		".grapnel/skills/astray/SKILL.md":  "---\nname: astray\ndescription: D.\ncontext: fork\nagent: other\n---\nGo.\n",
		".grapnel/skills/unknown/SKILL.md": "---\nname: unknown\ndescription: D.\nmodel: sonnet\n---\nGo.\n",
		"boss.yaml":                        "rules:\n  - {when: always, say: 'boss: ${user}'}\n",
		"mate.yaml":                        "rules:\n  - {when: always, say: mate}\n",
		"dear.yaml":                        "rules:\n  - {when: always, say: dear}\n",
	})
	mine := filepath.Join(p.Home, ".grapnel", "skills", "mine")
	require.NoError(t, os.MkdirAll(mine, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(mine, "SKILL.md"), []byte("---\nname: mine\ndescription: D.\nmodel: script:dear.yaml\n---\nGo.\n"), 0o600))
	var asked []string
	answering := func(a trust.Answer) app.Options {
		return app.Options{Paths: p, Trust: func(_ context.Context, r trust.Request) (trust.Answer, error) {
			asked = append(asked, r.Question())
			return a, nil
		}}
	}

	out, told := sayTo(t, app.Options{Paths: p}, "boss", "/dear")
	assert.Contains(t, out.Text(), "boss: ", "nobody could be asked")
	assert.Contains(t, told, "skills of the project choose no model and no agent (skill astray: agent other; skill crew: agent mate; skill dear: model script:dear.yaml; skill unknown: model sonnet): nobody has approved it")
	assert.Contains(t, told, `the model "script:dear.yaml" of the skill "dear" is not used: nobody has approved that`)
	_, told = sayTo(t, app.Options{Paths: p}, "boss", "/crew")
	assert.Contains(t, told, `the skill "crew" did not run: its agent "mate" cannot be used: nobody has approved that`)
	out, _ = sayTo(t, app.Options{Paths: p}, "boss", "/mine")
	assert.Equal(t, "dear", out.Text(), "what the user wrote needs no approval")

	out, _ = sayTo(t, answering(trust.Refused), "boss", "/dear")
	assert.Contains(t, out.Text(), "boss: ")
	out, _ = sayTo(t, answering(trust.Always), "boss", "/dear")
	assert.Equal(t, "dear", out.Text())
	require.Len(t, asked, 2)
	assert.Contains(t, asked[1], "the project wants these skills to choose which model or which agent works on them:\n  skill astray: agent other")
	_, told = sayTo(t, answering(trust.Refused), "boss", "/crew")
	assert.Contains(t, told, "<skill_result name=\"crew\">\nmate\n</skill_result>")
	_, told = sayTo(t, answering(trust.Refused), "boss", "/astray")
	assert.Contains(t, told, `there is no agent "other" to delegate to`, "the list of the agent counts for its skills as well")
	out, told = sayTo(t, answering(trust.Refused), "boss", "/unknown")
	assert.Contains(t, out.Text(), "boss: ")
	assert.Contains(t, told, `the model "sonnet" of the skill "unknown" is not used: there is no model "sonnet"`)
	assert.Len(t, asked, 2, "it was approved for good")

	file := filepath.Join(p.Root, ".grapnel", "skills", "dear", "SKILL.md")
	require.NoError(t, os.WriteFile(file, []byte("---\nname: dear\ndescription: D.\nmodel: script:mate.yaml\n---\nGo.\n"), 0o600))
	out, _ = sayTo(t, answering(trust.Refused), "boss", "/dear")
	assert.Contains(t, out.Text(), "boss: ", "another model is another question")
	require.Len(t, asked, 3)
	assert.Contains(t, asked[2], "+ skill dear: model script:mate.yaml")
}

// TestAllowedToolsOfASkillAreRules: they are read as policy.json is, and deny what its rules would have allowed.
func TestAllowedToolsOfASkillAreRules(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		".grapnel/agents/boss.md":       "---\nmodel: script:boss.yaml\npolicy: {default: allow, allow: ['*'], deny: ['Write(src/secret)']}\n---\nHi.\n",
		".grapnel/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: D.\nallowed-tools: Bash(echo:*), Write(src/**), Nonsense(\n---\nGo.\n",
		"boss.yaml": `rules:
  - when: {step: 1}
    calls:
      - {tool: bash, args: {command: echo hi}}
      - {tool: bash, args: {command: "echo hi; touch bad"}}
      - {tool: write, args: {file_path: src/a, content: x}}
      - {tool: write, args: {file_path: src/../b, content: x}}
      - {tool: write, args: {file_path: src/secret, content: x}}
      - {tool: read, args: {file_path: boss.yaml}}
  - {when: always, say: done}
`,
	})
	o := app.Options{Paths: p, Trust: func(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil }}
	_, told := sayTo(t, o, "boss", "/tidy")
	assert.FileExists(t, filepath.Join(p.Root, "src", "a"))
	for _, name := range []string{"bad", "b", "src/secret"} {
		assert.NoFileExists(t, filepath.Join(p.Root, name))
	}
	assert.Contains(t, told, `allowed-tools: [2]: rule "Nonsense(": the parenthesis is not closed`)
}
