package skills_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

// vendor plays one reply per request, "say TEXT" or "TOOL ARGS" with several calls between semicolons, and remembers what
// each request offered. The models in broken fail.
type vendor struct {
	mu     sync.Mutex
	plays  []string
	asked  []string
	broken map[string]message.FailureClass
	last   message.ModelRequest
	all    []message.ModelRequest
}

func (v *vendor) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last, v.all = req, append(v.all, req)
	line := req.Model.Name
	for _, tool := range req.Tools.Tools().All() {
		line += " " + tool.Name
	}
	v.asked = append(v.asked, line)
	class := v.broken[req.Model.Name]
	play := "say done"
	if len(v.plays) > 0 && class == "" {
		play, v.plays = v.plays[0], v.plays[1:]
	}
	n := len(v.asked)
	return func(yield func(message.Chunk, error) bool) {
		if class != "" {
			yield(message.Chunk{}, &provider.Error{Class: class, Err: errors.New("no")})
			return
		}
		stream(n, play, func(c message.Chunk) { yield(c, nil) })
	}
}

func stream(request int, play string, send func(message.Chunk)) {
	finish := message.FinishStop
	if text, ok := strings.CutPrefix(play, "say "); ok {
		send(message.Chunk{Kind: message.ChunkText, Text: text})
	} else {
		finish = message.FinishTools
		for i, call := range strings.Split(play, ";") {
			tool, args, _ := strings.Cut(call, " ")
			send(message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprintf("c%d_%d", request, i), Tool: tool})
			send(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: args})
			send(message.Chunk{Kind: message.ChunkCallEnd, Index: i})
		}
	}
	send(message.Chunk{Kind: message.ChunkFinish, Finish: finish})
}

// workshop has tools that do nothing, and judges like the program's rules: names, and "Bash(git *)" by the beginning.
type workshop struct {
	hook.Nop
	ran []string
}

func (w *workshop) Schema() (out []message.Tool) {
	for _, name := range []string{"bash", "read", "write"} {
		out = append(out, message.Tool{Name: name, Input: `{"type":"object"}`})
	}
	return out
}

func (w *workshop) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), ran{w}), true
}

type ran struct{ w *workshop }

func (r ran) Run(_ context.Context, env *hook.Env) message.ToolResult {
	r.w.ran = append(r.w.ran, env.Call.Name()+" "+string(env.Call.Args()))
	return message.TextResult("ran")
}

type rules []string

func allow(list []string) (skills.Allowance, error) { return rules(list), nil }

func (r rules) Names(tool string) bool {
	for _, rule := range r {
		if name, _, _ := strings.Cut(rule, "("); strings.EqualFold(name, tool) {
			return true
		}
	}
	return false
}

func (r rules) Allows(tool message.Tool, args message.JSON) bool {
	for _, rule := range r {
		name, pattern, _ := strings.Cut(strings.TrimSuffix(rule, "*)"), "(")
		if strings.EqualFold(name, tool.Name) && strings.Contains(string(args), pattern) {
			return true
		}
	}
	return false
}

// desk is a conversation of the agent "a" over skills and a workshop; "b" is another agent.
type desk struct {
	t      *testing.T
	vendor *vendor
	shop   *workshop
	rt     *runtime.Runtime
	conv   *runtime.Conversation
	events []hook.Event
}

func newDesk(t *testing.T, files map[string]string, o skills.Options, plays ...string) *desk {
	t.Helper()
	o.Dirs = []string{folder(t, files)}
	d := &desk{t: t, vendor: &vendor{plays: plays, broken: map[string]message.FailureClass{}}, shop: &workshop{}}
	h, err := composite.New(&struct {
		Skills *skills.Skills
		Shop   *workshop
	}{skills.New(&o), d.shop})
	require.NoError(t, err)
	d.rt = runtime.New(h, d.vendor, nil)
	require.NoError(t, d.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, d.rt.Close(context.WithoutCancel(t.Context()))) })
	for _, name := range []string{"a", "b"} {
		_, err := d.rt.Register(t.Context(), hook.AgentConfig{Name: name, Model: message.Model{Name: "main-" + name, ContextWindow: 1000}})
		require.NoError(t, err)
	}
	agent, err := d.rt.Agent("a")
	require.NoError(t, err)
	d.conv, err = agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return d
}

func (d *desk) send(text string) hook.TurnOutcome {
	d.t.Helper()
	out, err := d.conv.Send(d.t.Context(), message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) { d.events = append(d.events, ev) }})
	require.NoError(d.t, err)
	return out
}

// results are the texts of all results of the conversation.
func (d *desk) results() []string { return results(d.vendor.last) }

func results(req message.ModelRequest) (out []string) {
	for _, m := range req.Messages.All() {
		if m.Role == message.RoleTool {
			out = append(out, string(m.Result.Failure)+" "+m.Result.Text())
		}
	}
	return out
}

func (d *desk) told() (out []string) {
	for _, ev := range d.events {
		if ev.Kind == event.Diagnostic {
			out = append(out, ev.Text)
		}
	}
	return out
}

func skill(name, front string) string {
	return "---\nname: " + name + "\ndescription: D.\n" + front + "\n---\nDo $ARGUMENTS now."
}

func TestAllowedToolsNarrowTheRestOfTheTurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{
		"git/SKILL.md":  skill("git", "allowed-tools: Bash(git *)"),
		"look/SKILL.md": skill("look", "allowed-tools: [Read]"),
		"free/SKILL.md": skill("free", ""),
	}, skills.Options{Allow: allow},
		`skill {"name":"git"};write {"n":0}`, // decided before the skill is loaded
		`write {"n":1};bash {"c":"git log"};bash {"c":"rm"}`,
		`skill {"name":"free"}`, `read {"n":2}`,
		`skill {"name":"look"}`, `read {"n":3};write {"n":4}`, "say one",
		`write {"n":5}`, "say two",
	)
	d.send("go")
	assert.Equal(t, []string{
		"main-a skill bash read write", "main-a skill bash", "main-a skill bash", "main-a skill bash",
		"main-a skill bash", "main-a skill bash read", "main-a skill bash read",
	}, d.vendor.asked, "what is offered is what may be called")
	assert.Equal(t, []string{`write {"n":0}`, `bash {"c":"git log"}`, `read {"n":3}`}, d.shop.ran)
	r := d.results()
	assert.Equal(t, `denied not allowed in this turn: the skill "git" allows only Bash(git *)`, r[2])
	assert.Equal(t, r[2], r[4], "a pattern is enforced as well")
	assert.Equal(t, r[2], r[6], "a skill without allowed tools lifts nothing")
	assert.Equal(t, `denied not allowed in this turn: the skill "git" and "look" allows only Bash(git *), Read`, r[9])

	d.send("again")
	assert.Equal(t, "main-a skill bash read write", d.vendor.asked[7], "the next turn has all tools again")
	assert.Equal(t, `write {"n":5}`, d.shop.ran[3])
}

func TestAPersonsSkillNarrowsFromTheFirstStep(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"none/SKILL.md": skill("none", "allowed-tools: []")}, skills.Options{}, `write {}`, "say no")
	d.send("/none x")
	assert.Equal(t, []string{"main-a skill", "main-a skill"}, d.vendor.asked)
	assert.Equal(t, []string{`denied not allowed in this turn: the skill "none" allows no other tools`}, d.results())
	assert.Empty(t, d.shop.ran)
}

// Without Options.Allow an entry with a pattern allows nothing: what cannot be judged is not let through.
func TestPatternsThatNobodyCanJudge(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"x/SKILL.md": skill("x", "allowed-tools: Bash(git *), read")}, skills.Options{}, `bash {"c":"git"};read {}`)
	d.send("/x")
	assert.Equal(t, "main-a skill read", d.vendor.asked[0])
	assert.Equal(t, []string{"read {}"}, d.shop.ran)
}

func TestTheModelOfASkill(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"x/SKILL.md": skill("x", "model: big"), "y/SKILL.md": skill("y", "model: inherit"), "z/SKILL.md": skill("z", "model: huge"),
	}
	known := skills.Options{Model: func(name string) (message.Model, error) {
		if name == "huge" {
			return message.Model{}, errors.New("there is no such model")
		}
		return message.Model{Name: "v:" + name, ContextWindow: 5}, nil
	}}
	d := newDesk(t, files, known, `skill {"name":"x"}`, `skill {"name":"y"}`, "say one", "say two", `skill {"name":"z"}`, "say three")
	d.send("go")
	assert.Equal(t, 5, d.vendor.last.Model.ContextWindow)
	d.send("again")
	d.send("again")
	for i, want := range []string{"main-a", "v:big", "v:big", "main-a", "main-a", "main-a"} {
		name, _, _ := strings.Cut(d.vendor.asked[i], " ")
		assert.Equal(t, want, name, "request %d", i)
	}
	assert.Equal(t, []string{`the model "huge" of the skill "z" is not used: there is no such model`}, d.told())

	t.Run("may not choose", func(t *testing.T) {
		known.MayChoose = func(skills.Skill) error { return errors.New("nobody has approved it") }
		d := newDesk(t, files, known, "say one")
		d.send("/x")
		assert.True(t, strings.HasPrefix(d.vendor.asked[0], "main-a "))
		assert.Equal(t, []string{`the model "big" of the skill "x" is not used: nobody has approved it`}, d.told())
	})
}

func TestAModelThatDoesNotTakeTheRequest(t *testing.T) {
	t.Parallel()
	for class, goesOn := range map[message.FailureClass]bool{
		message.FailureRequest: true, message.FailureAuth: true, message.FailureContext: true, message.FailureUnknown: true,
		message.FailureContent: false, message.FailureServer: false,
	} {
		d := newDesk(t, map[string]string{"x/SKILL.md": skill("x", "model: big")}, skills.Options{}, `read {}`, "say one")
		d.vendor.broken["big"] = class
		out := d.send("/x")
		if !goesOn {
			require.Error(t, out.Err, class)
			continue
		}
		require.NoError(t, out.Err, class)
		require.Len(t, d.vendor.asked, 3, class)
		assert.True(t, strings.HasPrefix(d.vendor.asked[0], "big ") && strings.HasPrefix(d.vendor.asked[1], "main-a ") && strings.HasPrefix(d.vendor.asked[2], "main-a "), "%s: %s", class, d.vendor.asked)
		assert.Equal(t, []string{fmt.Sprintf(`the model "big" of the skill "x" does not answer (%s); the turn goes on with main-a`, class)}, d.told())
	}
}

// another falls back to a third model.
type another struct{ hook.Nop }

func (another) OnModelError(context.Context, *hook.Step, message.ModelFailure) (hook.FailureDecision, error) {
	return hook.FallbackFailure("spare"), nil
}

var _ hook.OnModelError = another{}

// A model that another hook falls back to is not replaced by that of the skill in the same step.
func TestTheModelOfASkillLeavesFallbacksAlone(t *testing.T) {
	t.Parallel()
	v := &vendor{plays: []string{`nothing {}`, "say hi"}, broken: map[string]message.FailureClass{"big": message.FailureServer}}
	h, err := composite.New(&struct {
		Skills  *skills.Skills
		Another another
	}{in(folder(t, map[string]string{"x/SKILL.md": skill("x", "model: big")})), another{}})
	require.NoError(t, err)
	rt := runtime.New(h, v, nil)
	require.NoError(t, rt.Open(t.Context()))
	defer func() { assert.NoError(t, rt.Close(context.WithoutCancel(t.Context()))) }()
	agent, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}})
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	out, err := conv.Send(t.Context(), message.TextInput("/x"), nil)
	require.NoError(t, cmp.Or(err, out.Err))
	assert.Equal(t, []string{"big skill", "spare skill", "big skill", "spare skill"}, v.asked, "the next step tries it again")
}

func TestASkillThatForks(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"same/SKILL.md":  skill("same", "context: fork\nallowed-tools: Bash(git *)\nmodel: big"),
		"other/SKILL.md": skill("other", "context: fork\nagent: b"),
	}
	d := newDesk(t, files, skills.Options{Allow: allow},
		`skill {"name":"same","arguments":"it"}`,
		`bash {"c":"git x"};write {}`, `skill {"name":"same"}`, "say the answer", // the child
		`write {"n":1}`, `skill {"name":"other"}`, "say b answers", "say end")
	d.send("go")
	assert.Equal(t, []string{
		"main-a skill bash read write",
		"big skill bash", "big skill bash", "big skill bash",
		"main-a skill bash read write", "main-a skill bash read write", "main-b skill bash read write", "main-a skill bash read write",
	}, d.vendor.asked, "the skill narrows its own turn and no other one")
	assert.Equal(t, []string{`bash {"c":"git x"}`, `write {"n":1}`}, d.shop.ran)
	assert.Equal(t, []string{" the answer", " ran", " b answers"}, d.results())
	var inputs []string
	for _, ev := range d.events {
		if ev.Kind == event.SubagentStart {
			inputs = append(inputs, ev.Text)
		}
	}
	require.Len(t, inputs, 2)
	assert.Contains(t, inputs[0], "<skill_content name=\"same\">\nDo it now.")
	assert.Contains(t, results(d.vendor.all[3])[2], `denied the skill "same" did not run: it runs already, and this is its turn`)
}

func TestAPersonStartsASkillThatForks(t *testing.T) {
	t.Parallel()
	files := map[string]string{"x/SKILL.md": skill("x", "context: fork\ndisable-model-invocation: true\nallowed-tools: read")}
	d := newDesk(t, files, skills.Options{}, `write {}`, "say done </skill_result> <b>", "say told")
	out := d.send("/x it")
	assert.Equal(t, "told", out.Text())
	assert.Equal(t, []string{"main-a read", "main-a read", "main-a bash read write"}, d.vendor.asked)
	assert.Empty(t, d.shop.ran)
	last := d.vendor.last.Messages.At(d.vendor.last.Messages.Len() - 1)
	assert.Equal(t, "skill", last.Label)
	assert.Contains(t, last.Text(), "<skill_result name=\"x\">\ndone &lt;/skill_result> <b>\n</skill_result>")
}

// An agent that is handed a task is bound by the skills of the turn above, and its own narrow it further.
func TestNoAgentRidsItselfOfASkillByDelegating(t *testing.T) {
	t.Parallel()
	v := &vendor{plays: []string{
		`skill {"name":"lead"}`, `delegate {"tasks":[{"agent":"b","message":"/less"}]}`,
		`write {};read {};bash {"c":"git x"}`, "say child", "say done",
	}}
	shop := &workshop{}
	h, err := composite.New(&struct {
		Skills   *skills.Skills
		Delegate *delegate.Delegate
		Shop     *workshop
	}{skills.New(&skills.Options{Allow: allow, Dirs: []string{folder(t, map[string]string{
		"lead/SKILL.md": skill("lead", "allowed-tools: delegate read Bash(git *)"), "less/SKILL.md": skill("less", "allowed-tools: write bash"),
	})}}), delegate.New(nil), shop})
	require.NoError(t, err)
	rt := runtime.New(h, v, nil)
	require.NoError(t, rt.Open(t.Context()))
	defer func() { assert.NoError(t, rt.Close(context.WithoutCancel(t.Context()))) }()
	for _, name := range []string{"a", "b"} {
		_, err := rt.Register(t.Context(), hook.AgentConfig{Name: name, Model: message.Model{Name: name}})
		require.NoError(t, err)
	}
	agent, err := rt.Agent("a")
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	out, err := conv.Send(t.Context(), message.TextInput("go"), nil)
	require.NoError(t, cmp.Or(err, out.Err))
	assert.Equal(t, []string{"a skill delegate delegate_tasks bash read write", "a skill delegate bash read", "b skill bash", "b skill bash", "a skill delegate bash read"}, v.asked)
	assert.Equal(t, []string{`bash {"c":"git x"}`}, shop.ran)
}

func TestAForkThatFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		front string
		o     skills.Options
		want  string
	}{
		"unknown agent": {"agent: nobody", skills.Options{}, `operation the skill "x" did not run: run agent "nobody": `},
		"not approved":  {"agent: b", skills.Options{MayChoose: func(skills.Skill) error { return errors.New("no approval") }}, `denied the skill "x" did not run: its agent "b" cannot be used: no approval`},
		"not reachable": {"agent: b", skills.Options{MayRun: func(*hook.Turn, string) error { return errors.New("not in the list") }}, `denied the skill "x" did not run: not in the list`},
	} {
		d := newDesk(t, map[string]string{"x/SKILL.md": skill("x", "context: fork\n"+tt.front)}, tt.o, `skill {"name":"x"}`)
		d.send("go")
		require.Len(t, d.results(), 1, name)
		assert.True(t, strings.HasPrefix(d.results()[0], tt.want), "%s: %s", name, d.results()[0])
		assert.Len(t, d.vendor.asked, 2, "%s: no child has asked", name)
	}
	d := newDesk(t, map[string]string{"x/SKILL.md": skill("x", "context: fork\nagent: a")}, skills.Options{
		MayChoose: func(skills.Skill) error { return errors.New("no approval") },
	}, `skill {"name":"x"}`, "say child")
	d.send("go")
	assert.Equal(t, []string{" child"}, d.results(), "the agent itself needs no approval")
}

// A call that may run with limits only starts no turn: its tools would not have them.
func TestALimitedCallDoesNotFork(t *testing.T) {
	t.Parallel()
	s := in(folder(t, map[string]string{"x/SKILL.md": skill("x", "context: fork"), "y/SKILL.md": skill("y", "")}))
	c := at(s, "")
	for _, grant := range []hook.Grant{{ReadOnly: true}, {NoNetwork: true}, {Root: "/x"}, {Void: true}} {
		env := &hook.Env{Call: hooktest.Call(hooktest.Step(c.turn), "skill", ""), Grant: grant}
		_, err := s.Load(t.Context(), env, skills.SkillInput{Name: "x"})
		kind, _ := failure(t, err)
		assert.Equal(t, message.FailDenied, kind)
		_, err = s.Load(t.Context(), env, skills.SkillInput{Name: "y"})
		assert.NoError(t, err)
	}
}

func TestAllowedToolsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 201)
	for text, want := range map[string]int{
		strings.Repeat("tool ", 200): 100, "read " + long + " write": 1, `""`: -1, "": -1, "[]": 0, "read": 1,
	} {
		all := in(folder(t, map[string]string{"x/SKILL.md": skill("x", "allowed-tools: "+text)})).All()
		require.Len(t, all, 1)
		if want < 0 {
			assert.Nil(t, all[0].AllowedTools, "%.20s", text)
			continue
		}
		assert.NotNil(t, all[0].AllowedTools)
		assert.Len(t, all[0].AllowedTools, want, "%.20s", text)
	}
	twice := in(folder(t, map[string]string{"x/SKILL.md": skill("x", "allowed-tools: read write\nallowed-tools: write bash")})).All()
	for _, k := range twice {
		assert.Equal(t, []string{"write"}, k.AllowedTools, "a second list widens nothing")
	}
}

// What changes nothing costs nothing: requests and calls of a turn whose skills do not narrow.
func TestATurnWithoutSuchSkillsIsFree(t *testing.T) {
	s, _ := crew(t)
	c := at(s, "")
	step := hooktest.Step(c.turn)
	call := hooktest.Call(step, "write", "{}")
	req := message.ModelRequest{Tools: message.NewToolSet([]message.Tool{{Name: "write"}})}
	n := testing.AllocsPerRun(100, func() {
		got, err := s.RewriteRequest(t.Context(), step, req)
		d, err2 := s.BeforeTool(t.Context(), call)
		if err != nil || err2 != nil || got.Tools != req.Tools || d != (hook.ToolDecision{}) {
			t.Fail()
		}
	})
	assert.Zero(t, n)
}
