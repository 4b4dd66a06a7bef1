package toolbox_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
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
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return toolbox.New() }, &hooktest.Options{
		Agent:  hook.AgentConfig{}.WithSection("toolbox", `{"above":2,"keep":["read"]}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

// vendor plays one reply per request, "say TEXT" or "TOOL ARGS" with several calls between semicolons, and remembers the
// requests.
type vendor struct {
	mu    sync.Mutex
	plays []string
	asked []message.ModelRequest
}

func (v *vendor) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, req)
	play, n := "say done", len(v.asked)
	if len(v.plays) > 0 {
		play, v.plays = v.plays[0], v.plays[1:]
	}
	return func(yield func(message.Chunk, error) bool) {
		finish := message.FinishStop
		if text, ok := strings.CutPrefix(play, "say "); ok {
			yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil)
		} else {
			finish = message.FinishTools
			for i, call := range strings.Split(play, ";") {
				tool, args, _ := strings.Cut(call, " ")
				yield(message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprintf("c%d_%d", n, i), Tool: tool}, nil)
				yield(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: args}, nil)
				yield(message.Chunk{Kind: message.ChunkCallEnd, Index: i}, nil)
			}
		}
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: finish}, nil)
	}
}

// offered are the names of the tools of a request.
func (v *vendor) offered(i int) string {
	var names []string
	for _, t := range v.asked[i].Tools.Tools().All() {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// results are the results in the last request.
func (v *vendor) results() (out []string) {
	for _, m := range v.asked[len(v.asked)-1].Messages.All() {
		if m.Role == message.RoleTool {
			out = append(out, strings.TrimSpace(string(m.Result.Failure)+" "+m.Result.Text()))
		}
	}
	return out
}

// drawer has tools that say their name, as read and as tools of servers "x" and "y".
type drawer struct {
	hook.Nop
	tools []string
}

var described = map[string]string{
	"mcp__x__list_issues": "Lists the open issues of a repository.", "mcp__x__merge": "Merges a branch.", "mcp__y__send_mail": "Sends a message to a person.",
}

func (d drawer) Schema() (out []message.Tool) {
	for _, name := range d.tools {
		out = append(out, message.Tool{Name: name, Description: described[name], Input: `{"type":"object","properties":{"colour":{"description":"How it looks."}}}`})
	}
	return out
}

func (d drawer) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	for _, name := range d.tools {
		if name == call.Name() {
			return hook.Bound(call.Args(), said(name)), true
		}
	}
	return hook.Invocation{}, false
}

type said string

func (s said) Run(context.Context, *hook.Env) message.ToolResult {
	return message.TextResult("ran " + string(s))
}

func some() drawer {
	return drawer{tools: []string{"read", "mcp__x__list_issues", "mcp__x__merge", "mcp__y__send_mail"}}
}

// talk is a conversation over a toolbox and other hooks.
type talk struct {
	t      *testing.T
	vendor *vendor
	rt     *runtime.Runtime
	conv   *runtime.Conversation
	events []hook.Event
}

func begin(t *testing.T, h any, st store.Store, cfg hook.AgentConfig, plays ...string) *talk {
	t.Helper()
	c, err := composite.New(h)
	require.NoError(t, err)
	w := &talk{t: t, vendor: &vendor{plays: plays}}
	w.rt = runtime.New(c, w.vendor, &runtime.Options{Store: st})
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, w.rt.Close(context.WithoutCancel(t.Context()))) })
	cfg.Name, cfg.Model.Name = "a", "m"
	agent, err := w.rt.Register(t.Context(), cfg)
	require.NoError(t, err)
	w.conv, err = agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return w
}

// over is begin for a toolbox and a drawer.
func over(t *testing.T, section message.JSON, d drawer, plays ...string) *talk {
	t.Helper()
	return begin(t, &struct {
		Drawer  drawer
		Toolbox *toolbox.Toolbox
	}{d, toolbox.New()}, nil, hook.AgentConfig{}.WithSection("toolbox", section), plays...)
}

func (w *talk) send(o *runtime.TurnOptions) {
	w.t.Helper()
	if o == nil {
		o = &runtime.TurnOptions{}
	}
	o.Observe = func(ev hook.Event) { w.events = append(w.events, ev) }
	out, err := w.conv.Send(w.t.Context(), message.TextInput("go"), o)
	require.NoError(w.t, err)
	require.NoError(w.t, out.Err)
}

func (w *talk) told() (out []string) {
	for _, ev := range w.events {
		if ev.Kind == event.Diagnostic && ev.Detail().Code == toolbox.CodeActive {
			out = append(out, ev.Text)
		}
	}
	return out
}

func TestTheSearchReplacesSchemas(t *testing.T) {
	t.Parallel()
	w := over(t, `{"above":3}`, some(),
		`tool_search {"query":"open issue"}`, `mcp__x__list_issues {};mcp__x__merge {};mcp__x__merge {}`, `mcp__x__merge {}`, "say one", "say two")
	w.send(nil)
	w.send(nil)
	for i, want := range []string{
		"read tool_search", "read tool_search mcp__x__list_issues",
		"read tool_search mcp__x__list_issues mcp__x__merge", "read tool_search mcp__x__list_issues mcp__x__merge",
		"read tool_search mcp__x__list_issues mcp__x__merge",
	} {
		assert.Equal(t, want, w.vendor.offered(i), "request %d", i)
	}
	r := w.vendor.results()
	var found []toolbox.Found
	require.NoError(t, json.Unmarshal([]byte(r[0]), &found))
	require.Len(t, found, 1)
	assert.Equal(t, "mcp__x__list_issues", found[0].Name)
	assert.Equal(t, described["mcp__x__list_issues"], found[0].Description)
	assert.JSONEq(t, string(some().Schema()[0].Input), string(found[0].InputSchema))
	assert.Equal(t, "ran mcp__x__list_issues", r[1])
	assert.Contains(t, r[2], "denied this tool was not loaded")
	assert.Contains(t, r[3], "denied this tool was not loaded", "what a step did not offer cannot be called in it, the second time neither")
	assert.Equal(t, "ran mcp__x__merge", r[4])
	assert.Contains(t, w.vendor.asked[0].Tools.Tools().At(1).Description, "3 tools can be found: mcp__x__* (2), mcp__y__* (1).")
	assert.Len(t, w.told(), 1, "once a session")
	assert.Regexp(t, `^toolbox: 4 tools, \d+ tokens of schemas; with tool_search: 2 tools, \d+ tokens$`, w.told()[0])
}

// What was found comes behind what is always there, in the order in which it was found: requests begin with the same bytes.
func TestRequestsBeginWithTheSameTools(t *testing.T) {
	t.Parallel()
	w := over(t, `{"above":1}`, some(), `tool_search {"query":"mail"}`, `tool_search {"query":"issues"}`, `tool_search {"query":"mail"}`)
	w.send(nil)
	before := ""
	for i := range w.vendor.asked {
		set := w.vendor.asked[i].Tools
		now := set.Encoded("test", func(tools message.List[message.Tool]) string {
			var sb strings.Builder
			for _, tool := range tools.All() {
				fmt.Fprintf(&sb, "%+v\n", tool)
			}
			return sb.String()
		})
		assert.True(t, strings.HasPrefix(now, before), "request %d", i)
		before = now
	}
	assert.Equal(t, "read tool_search mcp__y__send_mail mcp__x__list_issues", w.vendor.offered(3))
	assert.Same(t, w.vendor.asked[2].Tools, w.vendor.asked[3].Tools, "it is encoded once")
}

func TestBelowTheNumberNothingChanges(t *testing.T) {
	t.Parallel()
	all := "read mcp__x__list_issues mcp__x__merge mcp__y__send_mail"
	for name, section := range map[string]message.JSON{
		"no section": "", "not above": `{"above":4}`, "the default": `{}`, "few tokens": `{"tokens":100000}`, "all kept": `{"above":1,"keep":["*"]}`,
	} {
		w := over(t, section, some(), `mcp__x__merge {};tool_search {"query":"mail"}`)
		w.send(nil)
		assert.Equal(t, all, w.vendor.offered(0), name)
		assert.Equal(t, all, w.vendor.offered(1), name)
		assert.Equal(t, "ran mcp__x__merge", w.vendor.results()[0], name)
		assert.Contains(t, w.vendor.results()[1], "not_available", name)
		assert.Empty(t, w.told(), name)
		if section == "" {
			cfg := hook.AgentConfig{Name: "x"}
			assert.Equal(t, hook.Scope{Tools: []string{}}, toolbox.New().ScopedTools(&cfg))
		}
	}
}

func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	for section, want := range map[message.JSON]string{
		`{"above":1}`:                              "read tool_search",
		`{"tokens":10}`:                            "read tool_search",
		`{"above":1,"keep":[]}`:                    "tool_search",
		`{"above":1,"keep":["mcp__x__*"]}`:         "mcp__x__list_issues mcp__x__merge tool_search",
		`{"above":1,"keep":["*mail","mcp*m*rge"]}`: "mcp__x__merge mcp__y__send_mail tool_search",
		`{"above":1,"keep":["rea","reads","*x"]}`:  "tool_search",
	} {
		w := over(t, section, some())
		w.send(nil)
		assert.Equal(t, want, w.vendor.offered(0), section)
	}
}

func TestAForcedToolIsOffered(t *testing.T) {
	t.Parallel()
	w := over(t, `{"above":1}`, some(), "say x")
	choice := message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "mcp__x__merge"}
	w.send(&runtime.TurnOptions{Model: message.Model{Choice: choice}})
	assert.Equal(t, "read tool_search mcp__x__merge", w.vendor.offered(0))
	assert.Equal(t, choice, w.vendor.asked[0].Model.Choice)
}

func TestWrongSections(t *testing.T) {
	t.Parallel()
	for section, want := range map[message.JSON]string{
		`{"above":-1}`:         `section toolbox: above: -1; write a number of tools`,
		`{"tokens":-1}`:        `section toolbox: tokens: -1; write a number of tokens`,
		`{"abov":1}`:           `section toolbox: abov: unknown key`,
		`{"keep":["a b"]}`:     `section toolbox: keep[0]: "a b" is no name of a tool`,
		`{"keep":["a",""]}`:    `section toolbox: keep[1]: "" is no name of a tool`,
		`{"keep":["Bash(x)"]}`: `section toolbox: keep[0]: "Bash(x)" is no name of a tool`,
		message.JSON(`{"keep":[` + strings.TrimSuffix(strings.Repeat(`"a",`, 101), ",") + `]}`): `section toolbox: keep: 101 entries; write at most 100`,
	} {
		cfg := hook.AgentConfig{Name: "x"}.WithSection("toolbox", section)
		_, err := toolbox.New().OnBuildAgent(t.Context(), cfg)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, hook.Scope{Tools: []string{}}, toolbox.New().ScopedTools(&cfg))
	}
}

// A search finds nothing beyond the agent's list of tools. A list without the search has no search, and a note says so.
func TestTheListOfAnAgentHolds(t *testing.T) {
	t.Parallel()
	hooks := func() any {
		return &struct {
			Drawer  drawer
			Toolbox *toolbox.Toolbox
		}{some(), toolbox.New()}
	}
	with := func(tools ...string) hook.AgentConfig {
		return hook.AgentConfig{Tools: tools}.WithSection("toolbox", `{"above":1}`)
	}
	w := begin(t, hooks(), nil, with("read", "mcp__x__merge", "tool_search"), `tool_search {"query":"issues mail merge","limit":10}`, `mcp__y__send_mail {}`, `mcp__y__send_mail {}`)
	w.send(nil)
	assert.Equal(t, "read tool_search mcp__x__merge", w.vendor.offered(1))
	for _, r := range w.vendor.results()[1:] {
		assert.Contains(t, r, "not_available")
	}

	w = begin(t, hooks(), nil, with("read", "mcp__x__merge"), `mcp__x__merge {}`)
	w.send(nil)
	w.send(nil)
	assert.Equal(t, "read mcp__x__merge", w.vendor.offered(0))
	assert.Equal(t, []string{"ran mcp__x__merge"}, w.vendor.results())
	assert.Equal(t, []string{"toolbox: the search is not used, because the agent's list of tools lacks tool_search"}, w.told())
}

// A conversation that goes on in another process has the tools that it found.
func TestFoundToolsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	kept := mem.New(nil)
	hooks := func() any {
		return &struct {
			Drawer  drawer
			Toolbox *toolbox.Toolbox
		}{some(), toolbox.New()}
	}
	cfg := hook.AgentConfig{}.WithSection("toolbox", `{"above":1}`)
	first := begin(t, hooks(), kept, cfg, `tool_search {"query":"mail"}`, "say found")
	first.send(nil)
	second := begin(t, hooks(), kept, cfg, `mcp__y__send_mail {}`)
	second.send(nil)
	assert.Equal(t, "read tool_search mcp__y__send_mail", second.vendor.offered(0))
	assert.Equal(t, "ran mcp__y__send_mail", second.vendor.results()[1])
	assert.Len(t, second.told(), 1, "it is another session")
}

func TestFoundToolsAreBounded(t *testing.T) {
	t.Parallel()
	d := drawer{}
	var plays []string
	for i := range 60 {
		d.tools = append(d.tools, fmt.Sprintf("mcp__x__tool%d", i))
		plays = append(plays, fmt.Sprintf("mcp__x__tool%d {}", i))
	}
	w := over(t, `{"above":1}`, d, plays...)
	for range 5 {
		w.vendor.plays = append(plays[:12:12], "say next")
		plays = plays[12:]
		w.send(nil)
	}
	last := strings.Fields(w.vendor.offered(len(w.vendor.asked) - 1))
	assert.Len(t, last, 41)
	assert.Equal(t, []string{"tool_search", "mcp__x__tool20", "mcp__x__tool59"}, []string{last[0], last[1], last[40]}, "the oldest are forgotten")
}

// A child's tools are those of its own section. Without the search in its scope it has all schemas.
func TestChildren(t *testing.T) {
	t.Parallel()
	w := begin(t, &struct {
		Drawer   drawer
		Delegate *delegate.Delegate
		Toolbox  *toolbox.Toolbox
	}{some(), delegate.New(nil), toolbox.New()}, nil, hook.AgentConfig{}.WithSection("toolbox", `{"above":1}`),
		`delegate {"tasks":[{"agent":"plain","message":"x"}]}`, `mcp__x__merge {}`, "say child",
		`delegate {"tasks":[{"agent":"boxed","message":"x"}]}`, `tool_search {"query":"merge"}`, `mcp__x__merge {}`, "say child",
		"say done")
	for name, section := range map[string]message.JSON{"plain": "", "boxed": `{"above":1}`} {
		_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: name, Model: message.Model{Name: "m"}}.WithSection("toolbox", section))
		require.NoError(t, err)
	}
	w.send(nil)
	plain := "read mcp__x__list_issues mcp__x__merge mcp__y__send_mail delegate delegate_tasks"
	for i, want := range []string{
		"read delegate delegate_tasks tool_search", plain, plain, "read delegate delegate_tasks tool_search", "read delegate delegate_tasks tool_search",
		"read delegate delegate_tasks tool_search mcp__x__merge", "read delegate delegate_tasks tool_search mcp__x__merge", "read delegate delegate_tasks tool_search",
	} {
		assert.Equal(t, want, w.vendor.offered(i), "request %d", i)
	}
}

// office is an agent of a server process with 200 tools.
func office(t *testing.T, section message.JSON, plays ...string) (*talk, *toolbox.Toolbox) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	servers, err := mcp.New(mcp.Config{Servers: []mcp.Server{{
		Name: "office", Command: self, Env: map[string]string{envServer: "1", "GORACE": "atexit_sleep_ms=0"}, Required: true,
	}}}, nil)
	require.NoError(t, err)
	box := toolbox.New()
	w := begin(t, &struct {
		Drawer  drawer
		MCP     *mcp.MCP
		Toolbox *toolbox.Toolbox
	}{drawer{tools: []string{"read"}}, servers, box}, nil, hook.AgentConfig{}.WithSection("toolbox", section), plays...)
	return w, box
}

func TestTwoHundredToolsOfAServer(t *testing.T) {
	t.Parallel()
	w, box := office(t, `{"above":30}`,
		`tool_search {"query":"approve an invoice","limit":3}`, `mcp__office__approve_0 {"id":"7"};mcp__office__delete_3 {"id":"8"}`, "say done")
	w.send(nil)
	assert.Equal(t, "read tool_search", w.vendor.offered(0))
	assert.True(t, strings.HasPrefix(w.vendor.offered(1), "read tool_search mcp__office__approve_0 "), w.vendor.offered(1))
	r := w.vendor.results()
	assert.Equal(t, "approve invoice 7", r[1])
	assert.Contains(t, r[2], "denied this tool was not loaded")
	agent, err := w.rt.Agent("a")
	require.NoError(t, err)
	sizes := box.Sizes(agent.Config(), agent.Tools())
	assert.Equal(t, 201, sizes.Tools)
	assert.Equal(t, 2, sizes.Offered)
	assert.Greater(t, sizes.Tokens, 20*sizes.OfferedTokens)
	assert.Equal(t, "toolbox: "+sizes.String(), w.told()[0])
	t.Log(sizes)

	plain, box := office(t, "")
	plain.send(nil)
	assert.Len(t, strings.Fields(plain.vendor.offered(0)), 201)
	agent, err = plain.rt.Agent("a")
	require.NoError(t, err)
	assert.Equal(t, toolbox.Sizes{Tools: 201, Tokens: sizes.Tokens, Offered: 201, OfferedTokens: sizes.Tokens}, box.Sizes(agent.Config(), agent.Tools()))
}

// Each of the 200 tools is the first that its own words find, and one of the first three that a sentence finds.
func TestWhatTheSearchFinds(t *testing.T) {
	t.Parallel()
	var plays, want []string
	for _, verb := range verbs {
		for i, noun := range nouns {
			plays = append(plays, fmt.Sprintf(`tool_search {"query":"please %ss the %ss","limit":1}`, verb, noun))
			want = append(want, fmt.Sprintf("mcp__office__%s_%d", verb, i))
		}
	}
	w, _ := office(t, `{}`)
	missed := 0
	for len(plays) > 0 {
		w.vendor.plays = append(plays[:10:10], "say next")
		w.send(nil)
		r := w.vendor.results()
		for i, text := range r[len(r)-10:] {
			var found []toolbox.Found
			require.NoError(t, json.Unmarshal([]byte(text), &found))
			if len(found) == 0 || found[0].Name != want[i] {
				missed++
				t.Logf("%s: %v", plays[i], found)
			}
		}
		plays, want = plays[10:], want[10:]
	}
	assert.LessOrEqual(t, missed, 10, "of 200")
}

// Without the section a request costs no memory.
func TestWithoutASectionItIsFree(t *testing.T) {
	b := toolbox.New()
	turn := hooktest.Turn(hooktest.Conversation(&hook.AgentConfig{Name: "x"}, nil), "")
	step := hooktest.Step(turn)
	call := hooktest.Call(step, "read", "{}")
	req := message.ModelRequest{Tools: message.NewToolSet(some().Schema())}
	n := testing.AllocsPerRun(100, func() {
		got, err := b.RewriteRequest(t.Context(), step, req)
		d, err2 := b.BeforeTool(t.Context(), call)
		if err != nil || err2 != nil || got.Tools != req.Tools || d != (hook.ToolDecision{}) {
			t.Fail()
		}
	})
	assert.Zero(t, n)
}
