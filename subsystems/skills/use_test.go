package skills_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

func crew(t testing.TB) (*skills.Skills, string) {
	dir := folder(t, map[string]string{
		"knots/SKILL.md":       md("knots", "Tie <knots> & splice.", "Tie $ARGUMENTS."),
		"knots/scripts/tie.sh": "x",
		"logbook/SKILL.md":     md("logbook", "Keep the log.", "Write it down."),
		"secret/SKILL.md":      "---\nname: secret\ndescription: For people.\ndisable-model-invocation: true\n---\nPsst.",
		"robot/SKILL.md":       "---\nname: robot\ndescription: For models.\nuser-invocable: false\n---\nBeep.",
	})
	return in(dir), dir
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s, dir := crew(t)
	c := at(s, "")
	r, err := c.load(t, "knots", "a bowline")
	require.NoError(t, err)
	assert.Equal(t, `<skill_content name="knots">
Tie a bowline.

Skill directory: `+dir+`/knots
<skill_resources>
  <file>scripts/tie.sh</file>
</skill_resources>
</skill_content>`, r.Text())
	assert.Equal(t, message.TrustWorkspace, r.Trust)
	events := c.host.Events()
	require.Len(t, events, 1)
	assert.Equal(t, event.SkillLoaded, events[0].Kind)
	assert.Equal(t, "knots", events[0].Text)

	r, err = c.load(t, "logbook", "")
	require.NoError(t, err)
	assert.NotContains(t, r.Text(), "skill_resources")
	assert.NotContains(t, r.Text(), "ARGUMENTS")
}

func TestLoadFailsHelpfully(t *testing.T) {
	t.Parallel()
	s, _ := crew(t)
	tests := []struct {
		name  string
		args  message.JSON
		kind  message.FailureKind
		wants string
	}{
		{"knot", "", message.FailNotFound, `There is no skill "knot". Do you mean knots?`},
		{"KNOTS", "", message.FailNotFound, `There is no skill "KNOTS". Do you mean knots?`},
		{"log", "", message.FailNotFound, `There is no skill "log". Do you mean logbook?`},
		{"splice", "", message.FailNotFound, `There is no skill "splice". Do you mean knots?`},
		{"tie-knots-well", "", message.FailNotFound, `There is no skill "tie-knots-well". Do you mean knots?`},
		{"zzz", "", message.FailNotFound, `There is no skill "zzz". Call with an empty name to list them.`},
		{"secret", "", message.FailNotFound, `There is no skill "secret". Call with an empty name to list them.`},
		{"log", `{"names":["knots"]}`, message.FailNotFound, `There is no skill "log". Call with an empty name to list them.`},
		{"logbook", `{"names":["knots"]}`, message.FailNotFound, `There is no skill "logbook". Call with an empty name to list them.`},
		{"knots", `{"names":[]}`, message.FailNotFound, `There is no skill "knots".`},
		{"knots", `{"nmes":["knots"]}`, message.FailNotFound, `There is no skill "knots".`},
		{"../knots", "", message.FailArguments, `"../knots" is a path; give the name of a skill`},
		{"a/b", "", message.FailArguments, `"a/b" is a path; give the name of a skill`},
		{`a\b`, "", message.FailArguments, `"a\\b" is a path; give the name of a skill`},
		{"..", "", message.FailArguments, `".." is a path; give the name of a skill`},
		{strings.Repeat("x", 10_000), "", message.FailNotFound, "Call with an empty name"},
	}
	for _, tt := range tests {
		t.Run(tt.name[:min(len(tt.name), 20)]+" "+string(tt.args), func(t *testing.T) {
			t.Parallel()
			c := at(s, tt.args)
			_, err := c.load(t, tt.name, "")
			kind, text := failure(t, err)
			assert.Equal(t, tt.kind, kind)
			assert.Contains(t, text, tt.wants)
			assert.Empty(t, c.host.Events())
		})
	}
	t.Run("nowhere", func(t *testing.T) {
		_, err := s.Load(t.Context(), &hook.Env{}, skills.SkillInput{Name: "knots"})
		kind, _ := failure(t, err)
		assert.Equal(t, message.FailNotFound, kind, "an agent that is not known has nothing")
	})
}

// An empty name lists what the agent has, also where its skills are narrowed.
func TestLoadLists(t *testing.T) {
	t.Parallel()
	s, _ := crew(t)
	for section, want := range map[message.JSON]string{
		"":                               "The skills are:\n- knots: Tie <knots> & splice.\n- logbook: Keep the log.\n- robot: For models.",
		`{"names":["logbook","secret"]}`: "The skills are:\n- logbook: Keep the log.",
		`{"names":[]}`:                   "There are no skills.",
	} {
		r, err := at(s, section).load(t, " ", "")
		require.NoError(t, err)
		assert.Equal(t, want, r.Text())
	}
}

func TestSkillsAreReadAnew(t *testing.T) {
	t.Parallel()
	s, dir := crew(t)
	c := at(s, "")
	add(t, dir, map[string]string{"logbook/SKILL.md": md("logbook", "New.", "Changed."), "new/SKILL.md": md("new", "N.", "Added.")})
	for name, want := range map[string]string{"logbook": "Changed.", "new": "Added."} {
		r, err := c.load(t, name, "")
		require.NoError(t, err)
		assert.Contains(t, r.Text(), want)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "new")))
	_, err := c.load(t, "new", "")
	kind, _ := failure(t, err)
	assert.Equal(t, message.FailNotFound, kind)
}

func TestPreprocess(t *testing.T) {
	t.Parallel()
	s, dir := crew(t)
	c := at(s, "")
	got := c.say(t, "/knots  a bowline\nand more ")
	require.Len(t, got, 2)
	assert.Equal(t, message.UserText("/knots  a bowline\nand more "), got[0], "as it was written")
	assert.Equal(t, "skill", got[1].Label)
	assert.Equal(t, message.RoleUser, got[1].Role)
	assert.Contains(t, got[1].Text(), "Tie a bowline\nand more.\n\nSkill directory: "+dir+"/knots")
	assert.Equal(t, []hook.EventKind{event.SkillLoaded}, c.host.Kinds())
	assert.Len(t, c.say(t, "/secret"), 2, "a person may start what a model may not")

	for _, text := range []string{
		"/unknown x", "/usr/bin/env", "/", "/ knots", "//knots", " /knots", "knots", "see /knots", "/knots/x", "/Knots", "/robot", "",
	} {
		c := at(s, "")
		assert.Equal(t, []message.Message{message.UserText(text)}, c.say(t, text), text)
		assert.Empty(t, c.host.Events())
	}
	for _, section := range []message.JSON{`{"names":["logbook"]}`, `{"names":[]}`, `{"wrong":1}`} {
		assert.Len(t, at(s, section).say(t, "/knots"), 1, section)
	}
}

func TestPreprocessLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	s, _ := crew(t)
	c := at(s, "")
	label := message.UserText("/knots x")
	label.Label = "feedback"
	in := message.Input{Messages: message.ListOf(
		label,
		message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("/knots x"))},
		message.Message{Role: message.RoleUser, Content: message.ListOf(message.Block{Kind: message.BlockImage, URI: "/knots"})},
		message.Message{Role: message.RoleUser},
	)}
	out, err := s.Preprocess(t.Context(), c.turn, in)
	require.NoError(t, err)
	assert.Equal(t, in, out)

	two := message.Input{Messages: message.ListOf(message.UserText("/knots a"), message.UserText("plain"), message.UserText("/logbook"))}
	out, err = s.Preprocess(t.Context(), c.turn, two)
	require.NoError(t, err)
	var labels []string
	for _, m := range out.Messages.All() {
		labels = append(labels, m.Label)
	}
	assert.Equal(t, []string{"", "skill", "", "", "skill"}, labels)
}

func TestSubstitution(t *testing.T) {
	t.Parallel()
	const args = `one "two words" 'th ree' four\ 4`
	tests := []struct{ name, body, args, want string }{
		{"all", "<$ARGUMENTS>", args, "<" + args + ">"},
		{"all, none given", "<$ARGUMENTS>", "", "<>"},
		{"by index", "$ARGUMENTS[0]|$ARGUMENTS[1]|$ARGUMENTS[9]", args, "one|two words|$ARGUMENTS[9]"},
		{"short", "$0|$1|$2|$3|$4", args, "one|two words|th ree|four 4|$4"},
		{"prices and the like", "costs $5.00, $HOME, ${HOME}, $(x), $$, $", args, "costs $5.00, $HOME, ${HOME}, $(x), $$, $\n\nARGUMENTS: " + args},
		{"by name", "$first-$second|$third", "a b", "a-b|"},
		{"a longer name is another", "$firsts $ARGUMENTSX", "a b", "$firsts $ARGUMENTSX\n\nARGUMENTS: a b"},
		{"escaped", `\$ARGUMENTS \$0 \$first \$x \\ $0`, "a", `$ARGUMENTS $0 $first \$x \\ a`},
		{"escaped only", `\$ARGUMENTS`, "a", "$ARGUMENTS\n\nARGUMENTS: a"},
		{"asked for nowhere", "Just do it.", "a b", "Just do it.\n\nARGUMENTS: a b"},
		{"asked for nowhere, none given", "Just do it.", "", "Just do it."},
		{"not searched again", "$ARGUMENTS", "$0 ${CLAUDE_SKILL_DIR} $first", "$0 ${CLAUDE_SKILL_DIR} $first"},
		{"the folder", "${CLAUDE_SKILL_DIR}/x", "", "@/x"},
		{"the folder is no argument", "${CLAUDE_SKILL_DIR}", "a", "@\n\nARGUMENTS: a"},
		{"the conversation", "${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT}", "", "conversation-1 ${CLAUDE_EFFORT}"},
		{"commands are not run", "!`touch pwned`\n```!\ntouch pwned\n```", "", "!`touch pwned`\n```!\ntouch pwned\n```"},
		{"open quote", "$0|$1", `a "b c`, "a|b c"},
		{"empty argument", "$0|$1|$2", `a "" c`, "a||c"},
		{"huge index", "$99999 $ARGUMENTS[99999]", "a", "$99999 a[99999]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"x/SKILL.md": "---\nname: x\ndescription: D.\narguments: first second third\n---\n" + tt.body})
			r, err := at(in(dir), "").load(t, "x", tt.args)
			require.NoError(t, err)
			text := strings.TrimPrefix(r.Text(), "<skill_content name=\"x\">\n")
			text, _, _ = strings.Cut(text, "\n\nSkill directory: ")
			assert.Equal(t, strings.ReplaceAll(tt.want, "@", filepath.Join(dir, "x")), text)
		})
	}
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	s, dir := crew(t)
	want := `<available_skills>
  <skill>
    <name>knots</name>
    <description>Tie &lt;knots&gt; &amp; splice.</description>
    <location>` + dir + `/knots/SKILL.md</location>
  </skill>
  <skill>
    <name>logbook</name>
    <description>Keep the log.</description>
    <location>` + dir + `/logbook/SKILL.md</location>
  </skill>
</available_skills>`
	prompt := s.SystemPrompt(agent(`{"names":["logbook","knots","secret"]}`).Prefixed("x_"))
	head, list, _ := strings.Cut(prompt, "\n")
	assert.Equal(t, want, list)
	assert.Contains(t, head, "load it with x_skill")

	add(t, dir, map[string]string{"wordy/SKILL.md": md("wordy", "|\n  "+strings.Repeat("é", 1000)+"\n  \tnext\nwhen_to_use: "+strings.Repeat("w", 1000), "x")})
	prompt = s.SystemPrompt(agent(`{"names":["wordy"]}`))
	assert.Contains(t, prompt, strings.Repeat("é", 1000)+" next www")
	_, text, _ := strings.Cut(prompt, "<description>")
	text, _, _ = strings.Cut(text, "</description>")
	assert.Len(t, []rune(text), 1536)
}

func TestSection(t *testing.T) {
	t.Parallel()
	s, _ := crew(t)
	none := hook.Scope{Tools: []string{}}
	tests := []struct {
		section message.JSON
		scope   hook.Scope
		error   string
	}{
		{"", hook.Scope{}, ""},
		{"{}", hook.Scope{}, ""},
		{`{"names":["logbook","knots"]}`, hook.Scope{Line: "Of the skills: knots, logbook."}, ""},
		{`{"names":[]}`, none, ""},
		{`{"names":["secret"]}`, none, ""},
		{`{"names":["nots"]}`, none, `agent "a": section skills: names: there is no skill "nots"; there are knots, logbook, robot, secret`},
		{`{"name":["knots"]}`, none, `agent "a": section skills: name: unknown key; known are max_list, names`},
	}
	for _, tt := range tests {
		_, err := s.OnBuildAgent(t.Context(), *agent(tt.section))
		if tt.error != "" {
			assert.EqualError(t, err, tt.error)
		} else {
			assert.NoError(t, err)
		}
		assert.Equal(t, tt.scope, s.ScopedTools(agent(tt.section)), tt.section)
		assert.Equal(t, tt.scope.Tools != nil, s.SystemPrompt(agent(tt.section)) == "", "tool and catalogue go together")
	}
	empty := skills.New(nil)
	assert.Equal(t, none, empty.ScopedTools(agent("")))
	assert.Empty(t, empty.SystemPrompt(agent("")))
	_, err := empty.OnBuildAgent(t.Context(), *agent(`{"names":["x"]}`))
	assert.EqualError(t, err, `agent "a": section skills: names: there is no skill "x", nor any other`)
}

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"knots/SKILL.md": md("knots", "Tie.", "Tie $ARGUMENTS.")})
	hooktest.Run(t, func(*testing.T) hook.Hook { return in(dir) }, &hooktest.Options{
		Agent: *agent(`{"names":["knots"]}`), Golden: "testdata/descriptor.txt", Update: *update,
	})
}

// What is no command costs nothing, and that is almost every message.
func TestPlainTextIsFree(t *testing.T) {
	s, _ := crew(t)
	c := at(s, "")
	input := message.TextInput("please tie knots/ropes")
	assert.Zero(t, allocs.PerRun(100, func() {
		if out, err := s.Preprocess(t.Context(), c.turn, input); err != nil || out.Messages.Len() != 1 {
			t.Fail()
		}
	}))
}

func BenchmarkPreprocess(b *testing.B) {
	s, _ := crew(b)
	c := at(s, "")
	for name, text := range map[string]string{"plain": "tie a knot", "command": "/knots a bowline"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Preprocess(b.Context(), c.turn, message.TextInput(text))
				require.NoError(b, err)
			}
		})
	}
}

// TestDelegatingReachesNoMoreSkills: an agent that another one runs has the skills
// that all agents above it have, and is no person who could start one that is for
// people.
func TestDelegatingReachesNoMoreSkills(t *testing.T) {
	t.Parallel()
	s, _ := crew(t)
	narrow, wide, person := at(s, `{"names":["logbook","secret"]}`), at(s, ""), at(s, "")
	child := func(of scene, section message.JSON) scene {
		conv := hooktest.Conversation(agent(section), of.host)
		turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv, Parent: of.turn, Depth: of.turn.Depth() + 1})
		return scene{s, of.host, turn}
	}
	one := child(narrow, "")
	for _, c := range []scene{one, child(one, ""), child(child(one, ""), `{"names":["knots","logbook"]}`), child(child(wide, `{"names":["logbook"]}`), "")} {
		_, err := c.load(t, "knots", "")
		require.ErrorContains(t, err, `There is no skill "knots".`)
		r, err := c.load(t, "logbook", "")
		require.NoError(t, err)
		assert.Contains(t, r.Text(), "Write it down.")
		r, err = c.load(t, "", "")
		require.NoError(t, err)
		assert.Equal(t, "The skills are:\n- logbook: Keep the log.", r.Text())
		assert.Len(t, c.say(t, "/knots x"), 1, "what is above has no such skill")
		assert.Len(t, c.say(t, "/logbook"), 2)
		assert.Len(t, c.say(t, "/secret"), 1, "a model is no person")
	}
	assert.Len(t, person.say(t, "/secret"), 2)
}
