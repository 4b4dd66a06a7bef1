package agents_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// scribe writes down what is asked of it. It owns the tool "scribe".
type scribe struct {
	*rig.Toolbox
	deny bool
	mu   sync.Mutex
	log  []string
}

func newScribe() *scribe { return &scribe{Toolbox: rig.Box(rig.Named("scribe"))} }

func (s *scribe) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// heard returns what was written down since it was last asked, each once.
func (s *scribe) heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.log
	s.log = nil
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

func (s *scribe) OnOpen(context.Context, hook.Host) error { s.note("open"); return nil }
func (s *scribe) OnClose(context.Context) error           { s.note("close"); return nil }
func (s *scribe) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	s.note("build")
	return cfg, nil
}
func (s *scribe) OnRegisterAgent(context.Context, *hook.AgentConfig) error {
	s.note("register")
	return nil
}
func (s *scribe) OnUnregisterAgent(context.Context, *hook.AgentConfig) { s.note("unregister") }
func (s *scribe) SystemPrompt(*hook.AgentConfig) string                { return "The scribe is there." }
func (s *scribe) OnEvent(context.Context, hook.Event)                  { s.note("event") }
func (s *scribe) BeforeTurn(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
	s.note("turn")
	return hook.TurnDecision{}, nil
}
func (s *scribe) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	s.note("tool")
	if s.deny {
		return hook.DenyTool("no"), nil
	}
	return hook.ToolDecision{}, nil
}
func (s *scribe) OnSessionStart(context.Context, *hook.Session) (hook.SessionDecision, error) {
	s.note("session")
	return hook.SessionDecision{}, nil
}

// desk is a composite with a scribe and somebody else.
func desk(t *testing.T, s *scribe, more ...composite.Field) hook.Hook {
	t.Helper()
	fields := append([]composite.Field{{Name: "Scribe", Hook: s}, {Name: "Box", Hook: rig.Box(rig.Named("echo"))}}, more...)
	c, err := composite.Of("test.Desk", fields...)
	require.NoError(t, err)
	return c
}

func off(t *testing.T, source, member string) []plan.Layer {
	t.Helper()
	l, err := composite.NewLayer(source, map[string]string{member: "off"})
	require.NoError(t, err)
	return []plan.Layer{l}
}

// callsEcho is a model that calls echo in each of n turns.
func callsEcho(n int) *rig.Model {
	var replies []message.ModelStream
	for range n {
		replies = append(replies, rig.Calls(rig.Call("c", "echo", `{"s":"x"}`)), rig.Says("done"))
	}
	return rig.Plays(replies...)
}

func TestSpecAMemberThatTheProcessTurnsOffIsNowhere(t *testing.T) {
	t.Parallel()
	for _, record := range []bool{false, true} {
		s := newScribe()
		w := rig.StartWith(t, callsEcho(1), hook.AgentConfig{Name: "a"}, &runtime.Options{Layers: off(t, "user.json", "Scribe"), Events: runtime.Events{RecordHooks: record}}, desk(t, s))
		w.Send("go")
		assert.Equal(t, []string{"echo"}, toolNames(w.Model.Requests[0].Tools))
		assert.NotContains(t, w.Model.Requests[0].System, "scribe")
		assert.Equal(t, []plan.Disabled{{Field: "Scribe", By: "user.json"}}, w.Runtime.Plan().Off)
		require.NoError(t, w.Runtime.Close(t.Context()))
		assert.Empty(t, s.heard())
	}
}

func TestSpecAnAgentTurnsAMemberOff(t *testing.T) {
	t.Parallel()
	s := newScribe()
	c := rig.Cast{"chief": callsEcho(1), "plain": callsEcho(1)}
	w := rig.Stage(t, c, nil, rig.Agents("chief"), desk(t, s))
	assert.Equal(t, "build event open register", s.heard())
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "plain", Model: message.Model{Name: "plain"}}.WithSection(runtime.LayerSection, `{"Scribe": false}`))
	require.NoError(t, err)
	assert.Equal(t, "event", s.heard(), "what happens to agents is told to the process")
	conv, err := dialog.Conversation(t.Context(), w.Runtime, "plain", "ann")
	require.NoError(t, err)
	out, err := dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
	require.NoError(t, err)
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Empty(t, s.heard())
	assert.Equal(t, []string{"echo"}, toolNames(c["plain"].Requests[0].Tools))
	assert.NotContains(t, c["plain"].Requests[0].System, "scribe")

	w.Send("go")
	assert.Equal(t, "event session tool turn", s.heard(), "other agents have it")
	assert.Equal(t, []string{"scribe", "echo"}, toolNames(c["chief"].Requests[0].Tools))
	require.NoError(t, w.Runtime.Unregister(t.Context(), "plain"))
	assert.Equal(t, "event", s.heard())

	_, err = w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"}.WithSection(runtime.LayerSection, `{"Scribble": false}`))
	require.EqualError(t, err, `register agent "b": HG056: agent "b" names Scribble, but test.Desk has no such member; did you mean Scribe?`)
	_, err = w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"}.WithSection(runtime.LayerSection, `{"Scribe": 3}`))
	require.ErrorContains(t, err, `agent "b": section hooks: 3 is neither a text nor true or false`)
	assert.Equal(t, "", s.heard())
}

func TestSpecATurnTurnsAMemberOff(t *testing.T) {
	t.Parallel()
	s := newScribe()
	w := rig.StartWith(t, callsEcho(3), hook.AgentConfig{Name: "a"}, nil, desk(t, s))
	s.heard()
	turn := func(layers []plan.Layer) error {
		_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Layers: layers})
		return err
	}
	require.NoError(t, turn(off(t, "this turn", "Scribe")))
	assert.Equal(t, "session", s.heard(), "the session lasts longer than the turn")
	assert.Equal(t, []string{"echo"}, toolNames(w.Model.Requests[0].Tools))
	require.NoError(t, turn(nil))
	assert.Equal(t, "event tool turn", s.heard(), "and the next turn has it again")
	assert.Equal(t, []string{"scribe", "echo"}, toolNames(w.Model.Requests[2].Tools))
	require.EqualError(t, turn(off(t, "this turn", "Scrib")), "HG056: this turn names Scrib, but test.Desk has no such member; did you mean Scribe?")
	require.NoError(t, turn(nil), "and nothing is left of that")
}

func TestSpecATurnsLayersReachItsChildren(t *testing.T) {
	t.Parallel()
	s := newScribe()
	s.deny = true
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer"), rig.Says("done")), "writer": callsEcho(1)}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "writer"), desk(t, s, composite.Field{Name: "Delegate", Hook: delegate.New(nil)}))
	s.heard()
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Layers: off(t, "this turn", "Scribe")})
	require.NoError(t, err)
	assert.Equal(t, "session", s.heard())
	assert.Equal(t, []string{"echo", "delegate", "delegate_tasks"}, toolNames(c["writer"].Requests[0].Tools))
	require.Len(t, c["writer"].Requests, 2, "its call was not denied")
}

// Law 10: who is kept from something by a gate cannot have it done by an agent
// without that gate. What is no gate may be missing there.
func TestSpecNoAgentRunsOneWithFewerGates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ section, want string }{
		{`{"Scribe": "off"}`, `Scribe at OnSessionStart holds agent "chief" and not, or less strictly, "writer"; leave it on there, or turn it off for both`},
		{`{"Scribe": "without=BeforeTool"}`, `Scribe at BeforeTool holds agent "chief"`},
		{`{"Scribe": "BeforeTool: failopen"}`, `Scribe at BeforeTool holds agent "chief"`},
		{`{"Scribe": "without=OnEvent; BeforeTool: timeout=2s"}`, ""},
		{`{"Box": "off"}`, ""},
	} {
		cs := rig.Cast{"chief": rig.Plays(rig.Delegates("writer"), rig.Says("done")), "writer": rig.Plays(rig.Says("written"))}
		w := rig.Stage(t, cs, &runtime.Options{Store: mem.New(nil)}, rig.Agents("chief"), desk(t, newScribe(), composite.Field{Name: "Delegate", Hook: delegate.New(nil)}))
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "writer", Model: message.Model{Name: "writer"}}.WithSection(runtime.LayerSection, message.JSON(c.section)))
		require.NoError(t, err)
		w.Send("do it")
		got := w.Tasks()
		require.Len(t, got, 1, c.section)
		if c.want == "" {
			assert.Equal(t, "written", got[0].Result, c.section)
			continue
		}
		assert.Contains(t, got[0].Error, c.want, c.section)
		assert.Empty(t, cs["writer"].Requests, c.section)
	}
}
