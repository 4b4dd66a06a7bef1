package scope_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// shed has tools and narrows the scope to some of them.
type shed struct {
	hook.Nop
	tools []string
	scope hook.Scope
}

func (s shed) Schema() (out []message.Tool) {
	for _, name := range s.tools {
		out = append(out, message.Tool{Name: name, Input: `{"type":"object"}`})
	}
	return out
}

func (s shed) ScopedTools(*hook.AgentConfig) hook.Scope { return s.scope }

func viewOf(t *testing.T, h hook.Hook, cfg *hook.AgentConfig) *scope.View {
	t.Helper()
	c, err := composite.From(h)
	require.NoError(t, err)
	v, err := scope.New(c).View(cfg, scope.Environment{OS: "plan9"}, false)
	require.NoError(t, err)
	return v
}

// TestWhatIsOfferedMayBeCalled: and nothing else.
func TestWhatIsOfferedMayBeCalled(t *testing.T) {
	t.Parallel()
	h := shed{tools: []string{"axe", "rake", "saw"}, scope: hook.Scope{Tools: []string{"axe", "rake"}}}
	cfg := &hook.AgentConfig{Name: "a", Tools: []string{"rake", "saw"}}
	v := viewOf(t, h, cfg)
	assert.Equal(t, []string{"rake"}, v.Callable().Slice())
	assert.Equal(t, []string{"rake"}, cfg.Tools)
	for name, want := range map[string]scope.Standing{
		"rake": scope.Available, "axe": scope.NotAvailable, "saw": scope.NotAvailable, "spade": scope.NotRegistered,
	} {
		_, got := v.Find(name)
		assert.Equal(t, want, got, name)
	}
	assert.NotContains(t, v.Refusal("axe", scope.NotAvailable).Text(), "rake", "it names no other tool")
	assert.Contains(t, v.Refusal("rakes", scope.NotRegistered).Text(), `did you mean "rake"?`)
}

// TestTheChangesOfATurnLeaveTheView: as it was.
func TestTheChangesOfATurnLeaveTheView(t *testing.T) {
	t.Parallel()
	v := viewOf(t, shed{tools: []string{"axe", "saw"}}, &hook.AgentConfig{Name: "a"})
	changed := v.With(contribution.Tools{Hidden: []string{"axe"}, Added: []hook.AddedTool{{Tool: message.Tool{Name: "lamp"}}}})
	assert.Equal(t, []string{"saw", "lamp"}, changed.Callable().Slice())
	_, s := changed.Find("axe")
	assert.Equal(t, scope.NotAvailable, s)
	assert.Equal(t, []string{"axe", "saw"}, v.Callable().Slice())
}

func TestAConfiguredToolOfNobody(t *testing.T) {
	t.Parallel()
	c, err := composite.From(shed{tools: []string{"rake"}})
	require.NoError(t, err)
	_, err = scope.New(c).View(&hook.AgentConfig{Name: "a", Tools: []string{"rakes"}}, scope.Environment{}, true)
	assert.EqualError(t, err, `tool "rakes": nobody owns it; did you mean "rake"?`)
}

// TestAPromptHasTheEnvironmentOfAgentsWithTools: an agent without works nowhere.
func TestAPromptHasTheEnvironmentOfAgentsWithTools(t *testing.T) {
	t.Parallel()
	with := viewOf(t, shed{tools: []string{"rake"}}, &hook.AgentConfig{Name: "a", Instructions: "Garden."})
	assert.Equal(t, "Garden.\n\n<environment>\nos: plan9\n</environment>", with.Prompt)
	without := viewOf(t, hook.Nop{}, &hook.AgentConfig{Name: "a", Instructions: "Rest."})
	assert.Equal(t, "Rest.", without.Prompt)
}

// TestAMemberThatIsOffIsNoScope: only what an agent lacks of a member that it has is a scope to tell it.
func TestAMemberThatIsOffIsNoScope(t *testing.T) {
	t.Parallel()
	type hooks struct{ Garden, Barn shed }
	prompt := func(garden, barn []string, cfg hook.AgentConfig) string {
		c, err := composite.New(&hooks{shed{tools: []string{"rake", "spade"}, scope: hook.Scope{Tools: garden}}, shed{tools: []string{"axe"}, scope: hook.Scope{Tools: barn}}})
		require.NoError(t, err)
		v, err := scope.New(c).View(&cfg, scope.Environment{}, true)
		require.NoError(t, err)
		return v.Prompt
	}
	assert.Empty(t, prompt(nil, nil, hook.AgentConfig{}))
	assert.Empty(t, prompt(nil, []string{}, hook.AgentConfig{}), "the barn is off")
	assert.Empty(t, prompt([]string{}, []string{}, hook.AgentConfig{}))
	assert.Equal(t, "<scope>\ntools: rake, axe\n</scope>", prompt([]string{"rake"}, nil, hook.AgentConfig{}))
	assert.Equal(t, "<scope>\ntools: rake, spade\n</scope>", prompt(nil, nil, hook.AgentConfig{Tools: []string{"rake", "spade"}}), "the agent's own list")
}

// panicking panics where it is asked for its tools.
type panicking struct{ hook.Nop }

func (panicking) Schema() []message.Tool { panic("no tools today") }

func TestAPanicIsAFailureOfItsPoint(t *testing.T) {
	t.Parallel()
	c, err := composite.From(panicking{})
	require.NoError(t, err)
	_, err = scope.New(c).View(&hook.AgentConfig{Name: "a"}, scope.Environment{}, true)
	var f *hook.Failure
	require.ErrorAs(t, err, &f)
	assert.True(t, f.Panic)
	assert.Equal(t, point.Schema, f.Point)
}
