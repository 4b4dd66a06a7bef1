package agentfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/agentfile"
)

const whole = `---
name: reviewer
description: "Reads a change: says what is wrong."
model: script:review.yaml
tools: [read, grep]
limits:
  steps: 8
  tokens: 9000
  time: 2m
  max_tokens: 500
format: {name: verdict, schema: {type: object, required: [ok]}}
tool_choice: {tool: read}
ostools: {tools: [read], cap: 0x10, deep: {b: yes-no, a: 1.50, on: true, none: }}
memory: {}
---

You review changes.

---
A rule in the text stays.
`

func TestParseWhole(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := agentfile.Parse("agents/r.md", []byte(whole), agentfile.Grapnel)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	want := hook.AgentConfig{
		Name:         "reviewer",
		Description:  "Reads a change: says what is wrong.",
		Instructions: "You review changes.\n\n---\nA rule in the text stays.",
		Model: message.Model{
			Name:   "script:review.yaml",
			Format: message.ResponseFormat{JSON: true, Name: "verdict", Schema: `{"type":"object","required":["ok"]}`},
			Choice: message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "read"}, MaxTokens: 500,
		},
		Tools:  []string{"read", "grep"},
		Limits: hook.Limits{Steps: 8, Tokens: 9000, Time: 2 * time.Minute},
	}.WithSection("ostools", `{"tools":["read"],"cap":16,"deep":{"b":"yes-no","a":1.50,"on":true,"none":null}}`).
		WithSection("memory", `{}`)
	assert.Equal(t, want, cfg)
}

func TestParseTolerates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       hook.AgentConfig
	}{
		{"CRLF and byte order mark", "\xef\xbb\xbf---\r\nmodel: m\r\n---\r\nA\r\nB\r\n", hook.AgentConfig{Name: "a", Model: message.Model{Name: "m"}, Instructions: "A\nB"}},
		{"empty values leave the default", "---\nmodel:\ntools:\nlimits:\nostools:\ndescription: \"\"\n---\n", hook.AgentConfig{Name: "a"}},
		{"loop", "---\nloop: plan-and-execute\n---\n", hook.AgentConfig{Name: "a", Loop: message.LoopPlanAndExecute}},
		{"no tools", "---\ntools: []\n---\n", hook.AgentConfig{Name: "a", Tools: []string{}}},
		{"no keys, no text", "---\n---", hook.AgentConfig{Name: "a"}},
		{"only a comment", "---\n# nothing yet\n---\nHi", hook.AgentConfig{Name: "a", Instructions: "Hi"}},
		{"JSON", "---\nformat: json\ntool_choice: none\n---\n", hook.AgentConfig{Name: "a", Model: message.Model{Format: message.ResponseFormat{JSON: true}, Choice: message.ToolChoice{Mode: message.ToolChoiceNone}}}},
		{"all of a model", "---\nmodel:\n  name: openai:m\n  temperature: 0\n  top_p: 0.9\n  max_tokens: 800\n  context_window: 9000\n  reasoning: off\n  seed: -7\n  stop: END\n  tool_choice: required\n  service_tier: flex\n  extra: {verbosity: low, list: [1, 2.5]}\n---\n",
			hook.AgentConfig{Name: "a", Model: message.Model{
				Name: "openai:m", Temperature: message.Some(0.0), TopP: message.Some(0.9), MaxTokens: 800, ContextWindow: 9000,
				Reasoning: message.Reasoning{Effort: message.EffortOff}, Seed: message.Some[int64](-7), Stop: message.ListOf("END"),
				Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}, Tier: "flex", Extra: `{"verbosity":"low","list":[1,2.5]}`,
			}}},
		{"settings without a name", "---\nmodel: {reasoning: 2048, stop: [a, b]}\nlimits: {max_tokens: 5}\n---\n",
			hook.AgentConfig{Name: "a", Model: message.Model{Reasoning: message.Reasoning{Budget: 2048}, Stop: message.ListOf("a", "b"), MaxTokens: 5}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, _, err := agentfile.Parse("a.md", []byte(tt.text), agentfile.Grapnel)
			require.NoError(t, err)
			assert.Equal(t, tt.want, cfg)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, front, want string }{
		{"unknown key", "descripton: x", `d/a.md:2:1: unknown key "descripton"; did you mean "description"?`},
		{"far from any key", "zzzzzz: x", `d/a.md:2:1: unknown key "zzzzzz"; known are audit, compact, critique, delegate, description, fallback, format, guard, guardrail, hooks, instructions, limits, loop, mcp, memory, model, name, ostools, policy, schedule, secure, senders, sessions, skills, structured, tasks, tool_choice, toolbox, tools`},
		{"a key of another program", "permissionMode: plan", `d/a.md:2:1: unknown key "permissionMode"; it is a key of Claude Code's agent files: delete it, or move the file to .claude/agents`},
		{"twice", "model: a\nmodel: b", `d/a.md:3:1: key "model" is given twice, first in line 2; delete one of them`},
		{"twice below", "ostools:\n  a: 1\n  a: 2", `d/a.md:4:3: key "a" is given twice; delete one of them`},
		{"twice in limits", "limits: {steps: 1, steps: 2}", `d/a.md:2:20: key of limits "steps" is given twice, first in line 2; delete one of them`},
		{"unknown limit", "limits: {step: 1}", `d/a.md:2:10: unknown key of limits "step"; did you mean "steps"?`},
		{"no number", "limits: {steps: many}", `d/a.md:2:17: limits.steps is "many"; write a whole number from 1 to 2147483647, or leave it out for the default`},
		{"no unit", "limits: {time: 90}", `d/a.md:2:16: limits.time is "90"; write a time with its unit: 90s, 2m, 1h30m`},
		{"limits is a list", "limits: [1]", "d/a.md:2:9: limits is no mapping; write `limits: {steps: 10, time: 2m}`"},
		{"name", "name: my agent", `d/a.md:2:1: "my agent" is no name for an agent; set ` + "`name:` to 1 to 64 letters, digits, _ or -"},
		{"text", "description: [a]", "d/a.md:2:14: description is no text; write `description: …` in one line"},
		{"model", "model: [a]", "d/a.md:2:8: model is no mapping; write `model: VENDOR:NAME`, or `model: {name: VENDOR:NAME, temperature: 0.2}`"},
		{"a setting of the model", "model: {temprature: 1}", `d/a.md:2:9: unknown key of model "temprature"; did you mean "temperature"?`},
		{"headers", "model: {headers: {Authorization: x}}", `d/a.md:2:9: unknown key of model "headers"; known are context_window, extra, max_tokens, name, reasoning, seed, service_tier, stop, temperature, tool_choice, top_p`},
		{"temperature", "model: {temperature: .nan}", `d/a.md:2:22: model.temperature is ".nan"; write a number from 0 on, such as 0.2, or leave it out for the vendor's default`},
		{"no temperature", "model: {temperature: NaN}", `d/a.md:2:22: model.temperature is "NaN"; write a number from 0 on, such as 0.2, or leave it out for the vendor's default`},
		{"top_p", "model: {top_p: 1.5}", `d/a.md:2:16: model.top_p is "1.5"; write a number from 0 to 1, or leave it out for the vendor's default`},
		{"seed", "model: {seed: x}", `d/a.md:2:15: model.seed is "x"; write a whole number, or leave it out`},
		{"reasoning", "model: {reasoning: most}", `d/a.md:2:20: model.reasoning is "most"; write off, low, medium, high, or a number of tokens`},
		{"no budget", "model: {reasoning: -1}", `d/a.md:2:20: model.reasoning is "-1"; write off, low, medium, high, or a number of tokens`},
		{"stop", "model: {stop: [a, \"\"]}", "d/a.md:2:15: model.stop has an empty text; write `stop: [\"END\"]`"},
		{"no stop", "model: {stop: {a: b}}", "d/a.md:2:15: model.stop is no list; write `stop: [\"END\"]`"},
		{"extra", "model: {extra: 1}", "d/a.md:2:16: model.extra is no mapping; write the members to add to each request: `extra: {verbosity: low}`"},
		{"max_tokens twice", "limits: {max_tokens: 1}\nmodel: {max_tokens: 2}", "d/a.md:3:8: max_tokens or context_window is given twice, under model and under limits; delete one of them"},
		{"max_tokens twice, the other way round", "model: {max_tokens: 2}\nlimits: {max_tokens: 1}", "d/a.md:3:22: max_tokens is given twice, under model and under limits; delete one of them"},
		{"choice twice", "model: {tool_choice: auto}\ntool_choice: none", "d/a.md:3:14: tool_choice is given twice, under model and under the agent; delete one of them"},
		{"choice twice, the other way round", "tool_choice: none\nmodel: {tool_choice: auto}", "d/a.md:3:8: tool_choice is given twice, under model and under the agent; delete one of them"},
		{"tools in a line", "tools: read, grep", "d/a.md:2:8: tools is no list; write `tools: [read, grep]`, or `tools: []` for none"},
		{"tool name", "tools: [read, a b]", `d/a.md:2:15: "a b" is no tool name; use 1 to 64 letters, digits, _ or -, and * for any text: ` + "`mcp__github__*`"},
		{"a pattern of another kind", "tools: [\"mcp:*\"]", `d/a.md:2:9: "mcp:*" is no tool name; use 1 to 64 letters, digits, _ or -, and * for any text: ` + "`mcp__github__*`"},
		{"senders is a list", "senders: [ann]", "d/a.md:2:10: senders is no mapping; write `senders: {bash: [ann, \"gateway:*\"]}`: a tool or a pattern, and who may have it called"},
		{"senders of no tool", "senders: {a b: [ann]}", `d/a.md:2:11: "a b" is no tool name; use 1 to 64 letters, digits, _ or -, and * for any text: ` + "`mcp__github__*`"},
		{"a sender is no list", "senders: {bash: ann}", "d/a.md:2:17: senders.bash is no list; write `senders: {bash: [ann, \"gateway:*\"]}`: a tool or a pattern, and who may have it called"},
		{"a number is no sender", "senders: {bash: [7]}", `d/a.md:2:18: senders.bash has "7", which is no sender; write the name of a sender, in quotes if it has a * or is a number`},
		{"senders twice", "senders: {bash: [], bash: [ann]}", `d/a.md:2:21: senders has "bash" twice; write one list for both`},
		{"tool twice", "tools: [read, read]", `d/a.md:2:15: tool "read" is listed twice; delete one of them`},
		{"loop", "loop: reflexion", "d/a.md:2:7: there is no loop \"reflexion\"; write tool-calling or plan-and-execute"},
		{"loop of no text", "loop: [a]", "d/a.md:2:7: loop is no text; write `loop: …` in one line"},
		{"format", "format: xml", "d/a.md:2:9: format is \"xml\"; write `format: text`, `format: json`, or `format: {schema: {…}, name: …}`"},
		{"choice", "tool_choice: read", "d/a.md:2:14: tool_choice is \"read\"; write `tool_choice: auto`, `none` or `required`, or `tool_choice: {tool: NAME}`"},
		{"chosen tool name", "tool_choice: {tool: a b}", "d/a.md:2:21: tool_choice.tool is \"a b\"; use 1 to 64 letters, digits, _ or -"},
		{"chosen tool out of scope", "tools: [read]\ntool_choice: {tool: write}", "d/a.md:3:14: tool_choice names \"write\", which is not in the agent's list of tools; add it to `tools`, or name one of them"},
		{"a tool required of none", "tool_choice: required\ntools: []", "d/a.md:2:14: tool_choice is required, but the agent has no tool; list one under `tools`, or write `tool_choice: auto`"},
		{"format name", "format: {name: a b, schema: {type: object}}", "d/a.md:2:16: format.name is \"a b\"; use 1 to 64 letters, digits, _ or -"},
		{"schema", "format: {schema: {type: object, required: a}}", "d/a.md:2:18: format.schema is no JSON Schema: /required has a value that JSON Schema does not have there; write a JSON Schema (draft 2020-12): `{type: object, properties: {…}}`"},
		{"schema with a mistyped type", "format: {schema: {properties: {a: {type: strng}}}}", "d/a.md:2:18: format.schema is no JSON Schema: /properties/a/type has a value that JSON Schema does not have there; write a JSON Schema (draft 2020-12): `{type: object, properties: {…}}`"},
		{"schema from elsewhere", "format: {schema: {$ref: 'file:///etc/hosts'}}", "d/a.md:2:18: format.schema is no JSON Schema: loading file:///etc/hosts: a schema from elsewhere is not read; write a JSON Schema (draft 2020-12): `{type: object, properties: {…}}`"},
		{"section", "skills: [a]", "d/a.md:2:9: skills is no mapping; write `skills: {key: value}`"},
		{"alias", "ostools: {a: &x 1, b: *x}", "d/a.md:2:14: the frontmatter has an anchor or an alias, which is not read here; write the value out"},
		{"merge", "ostools: {<<: {a: 1}}", "d/a.md:2:11: a key is no plain text; write `key: value`"},
		{"no JSON", "ostools: {a: .inf}", "d/a.md:2:14: the number .inf has no JSON; write a decimal number"},
		{"no mapping", "- a", "d/a.md:2:1: the frontmatter is no mapping; write `key: value` lines"},
		{"no YAML", "name: a\ndescription: [a", "d/a.md:3:1: the frontmatter is no YAML: did not find expected ',' or ']'; put a value that holds `: ` or begins with a special character in quotes"},
		{"all at once", "modle: a\ntools: 1", "d/a.md:2:1: unknown key \"modle\"; did you mean \"model\"?\nd/a.md:3:8: tools is no list; write `tools: [read, grep]`, or `tools: []` for none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, _, err := agentfile.Parse("d/a.md", []byte("---\n"+tt.front+"\n---\ntext"), agentfile.Grapnel)
			require.Error(t, err)
			assert.Equal(t, tt.want, err.Error())
			assert.Zero(t, cfg)
		})
	}
}

func TestParseNeedsFrontmatter(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hello", " ---\n---\n"} {
		_, _, err := agentfile.Parse("a.md", []byte(text), agentfile.Grapnel)
		assert.EqualError(t, err, "a.md:1:1: the frontmatter is missing; begin the file with a line `---`, the keys, and a second line `---`", "%q", text)
	}
}

func TestParseNeedsTheEndOfTheFrontmatter(t *testing.T) {
	t.Parallel()
	_, _, err := agentfile.Parse("a.md", []byte("---\nmodel: a\n\nYou are.\n"), agentfile.Grapnel)
	assert.EqualError(t, err, "a.md:1:1: the frontmatter has no end; write a second line `---` below the keys")
}

func TestClaude(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, front string
		want        hook.AgentConfig
		warnings    []string
	}{
		{
			"a usual file", "name: helper\ndescription: Helps.\ntools: Read, Grep, WebFetch, Bash(git:*), mcp__gh__list, Task, Agent, AskUserQuestion\nmodel: inherit\ncolor: blue\nmaxTurns: 4",
			hook.AgentConfig{Name: "helper", Description: "Helps.", Instructions: "text", Tools: []string{"read", "grep", "mcp__gh__list", "delegate", "ask_user"}, Limits: hook.Limits{Steps: 4}},
			[]string{"a.md:4:8: the agent does not get WebFetch, Bash(git:*)", `a.md:6:1: key "color" is passed over`},
		},
		{
			"sections are not ours there", "memory: user\nskills: [a]\nodd: 1",
			hook.AgentConfig{Name: "a", Instructions: "text"},
			[]string{`a.md:2:1: key "memory" is passed over`, `a.md:3:1: key "skills" is passed over`, `a.md:4:1: key "odd" is passed over`},
		},
		{
			"a restriction leaves it out", "disallowedTools: Bash", hook.AgentConfig{},
			[]string{"a.md:2:1: disallowedTools restricts the agent and is not supported here; the agent is left out; write the agent for this program, in .grapnel/agents"},
		},
		{"plan mode leaves it out", "permissionMode: plan", hook.AgentConfig{}, []string{
			"a.md:2:1: permissionMode restricts the agent and is not supported here; the agent is left out; write the agent for this program, in .grapnel/agents"}},
		{"other modes ask anyway", "permissionMode: acceptEdits", hook.AgentConfig{Name: "a", Instructions: "text"}, []string{`a.md:2:1: key "permissionMode" is passed over`}},
		{"broken", "name: a b", hook.AgentConfig{}, []string{`a.md:2:1: "a b" is no name for an agent; the agent is left out; set ` + "`name:` to 1 to 64 letters, digits, _ or -"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, warnings, err := agentfile.Parse("a.md", []byte("---\n"+tt.front+"\n---\ntext"), agentfile.Claude)
			require.NoError(t, err)
			assert.Equal(t, tt.want, cfg)
			assert.Equal(t, tt.warnings, texts(warnings))
		})
	}
}

func texts(ps agentfile.Problems) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestLoad(t *testing.T) {
	t.Parallel()
	own := write(t, t.TempDir(), map[string]string{
		"b.md": "---\n---\nB", "a.md": "---\n---\nA", ".hidden.md": "broken", "notes.txt": "broken", "sub/c.md": "broken",
	})
	claude := write(t, t.TempDir(), map[string]string{"a.md": "---\n---\nother", "z.md": "---\nhooks: {}\n---\n"})
	agents, warnings, err := agentfile.Load(
		agentfile.Dir{Path: own}, agentfile.Dir{Path: claude, Dialect: agentfile.Claude}, agentfile.Dir{Path: filepath.Join(own, "none")})
	require.NoError(t, err)
	assert.Equal(t, []agentfile.Agent{
		{Config: hook.AgentConfig{Name: "a", Instructions: "A"}, File: filepath.Join(own, "a.md")},
		{Config: hook.AgentConfig{Name: "b", Instructions: "B"}, File: filepath.Join(own, "b.md")},
	}, agents)
	require.Len(t, warnings, 2)
	assert.Equal(t, `agent "a" is already defined in `+filepath.Join(own, "a.md")+"; the first one counts", warnings[0].What)
	assert.Contains(t, warnings[1].What, "the agent is left out")
}

func TestLoadNamesBothFiles(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{
		"a.md": "---\n---\nA", "b.md": "---\nname: a\n---\nB", "c.md": "---\nx: 1\n---", "d.md": "---\n---\nD",
	})
	agents, _, err := agentfile.Load(agentfile.Dir{Path: dir})
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], filepath.Join(dir, "b.md"))
	assert.Contains(t, lines[0], filepath.Join(dir, "a.md"))
	assert.Contains(t, lines[1], filepath.Join(dir, "c.md")+`:2:1: unknown key "x"`)
	assert.Len(t, agents, 2, "what is right is still there")
}

func TestLoadRefusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "a.md")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.md"), make([]byte, agentfile.MaxSize+1), 0o600))
	_, _, err := agentfile.Load(agentfile.Dir{Path: dir})
	require.Error(t, err)
	assert.Contains(t, err.Error(), filepath.Join(dir, "a.md")+": leads through a link out of its directory")
	assert.Contains(t, err.Error(), filepath.Join(dir, "b.md")+": has more than 1048576 bytes, which is the limit; make it shorter")
	_, _, err = agentfile.Load(agentfile.Dir{Path: filepath.Join(dir, "b.md")})
	assert.ErrorContains(t, err, "b.md: cannot be read: not a directory")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("---\nostools: {a: [1, {b: \"\\u00e9\"}], c: 1e400}\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range []agentfile.Dialect{agentfile.Grapnel, agentfile.Claude} {
			cfg, _, err := agentfile.Parse("a.md", data, d)
			if err != nil || cfg.Name == "" {
				continue
			}
			require.True(t, message.ValidToolName(cfg.Name))
			for _, name := range cfg.Sections() {
				_, found, err := hook.SectionOf[map[string]any](&cfg, name)
				require.NoError(t, err)
				require.True(t, found)
			}
		}
	})
}

// TestDocumentedExample reads the agent that the documentation shows.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "files.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(data), "```markdown\n")
	require.True(t, found)
	example, _, _ := strings.Cut(rest, "```\n")
	cfg, warnings, err := agentfile.Parse("reviewer.md", []byte(example), agentfile.Grapnel)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, []string{"read", "glob", "grep"}, cfg.Tools)
	assert.Equal(t, hook.Limits{Steps: 8, Time: 2 * time.Minute}, cfg.Limits)
	assert.Equal(t, "You review changes. Quote file and line.", cfg.Instructions)
}

// TestParseSenders: an empty list is nobody, and the order is that of the file.
func TestParseSenders(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := agentfile.Parse("a.md", []byte("---\ntools: [read, \"mcp__*\"]\nsenders:\n  write: []\n  \"mcp__*\": [ann, \"gateway:*\"]\n---\nHelp.\n"), agentfile.Grapnel)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, []string{"read", "mcp__*"}, cfg.Tools)
	assert.Equal(t, []message.SenderRule{{Tools: []string{"write"}, Senders: []string{}}, {Tools: []string{"mcp__*"}, Senders: []string{"ann", "gateway:*"}}}, cfg.Senders)
}
