package composite_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// toolbox is a hook with one tool and a decider.
type toolbox struct {
	hook.Nop
	name string
}

func (b *toolbox) Schema() []message.Tool { return []message.Tool{{Name: b.name}} }

func (b *toolbox) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Invocation{}, call.Name() == b.name
}

func (b *toolbox) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.DenyTool(b.name), nil
}

func layer(t *testing.T, source string, settings map[string]string) plan.Layer {
	t.Helper()
	l, err := composite.NewLayer(source, settings)
	require.NoError(t, err)
	return l
}

// stack is a composite with one nested in it.
func stack(t *testing.T) *composite.Composite {
	t.Helper()
	core, err := composite.Of("test.Core", field("Disk", "", &toolbox{name: "disk"}), field("Net", "requires=Disk", &toolbox{name: "net"}))
	require.NoError(t, err)
	c, err := composite.Of("test.Stack",
		field("Guard", "BeforeTool: failclosed", decides(hook.ToolDecision{}, errors.New("down"))),
		field("Core", "prefix=core_", core),
		field("Skills", "requires=Guard", &toolbox{name: "skill"}))
	require.NoError(t, err)
	return c
}

func TestLayersThatCannotBeLaid(t *testing.T) {
	cases := []struct {
		name     string
		settings map[string]string
		want     string
	}{
		{"a member that there is not", map[string]string{"Gaurd": "off"},
			"HG056: user.json names Gaurd, but test.Stack has no such member; did you mean Guard?"},
		{"a member of a composite that there is not", map[string]string{"Core.Disc": "off"},
			"HG056: user.json names Core.Disc, but test.Core has no such member; did you mean Core.Disk?"},
		{"a member of what is no composite", map[string]string{"Guard.Disk": "off"},
			"HG056: user.json names Guard.Disk, but Guard is no composite; say it of Guard"},
		{"a point where it never acts", map[string]string{"Skills": "AfterTool: timeout=1s"},
			"HG056: user.json changes Skills at AfterTool, where it never acts; it acts at BeforeTool~"},
		{"out at a point where it never acts", map[string]string{"Skills": "without=AfterTool"},
			"HG056: user.json excludes Skills at AfterTool, where it never acts; it acts at BeforeTool~"},
		{"half of a pair", map[string]string{"Skills": "without=Schema"},
			"HG056: user.json leaves Skills without one of Schema and Dispatch, which belong together; without=Schema|Dispatch"},
		{"what another one requires", map[string]string{"Guard": "off"},
			"HG055: Skills requires Guard, which user.json turns off; turn Skills off too, or leave Guard on"},
		{"what another one requires, further in", map[string]string{"Core.Disk": "off"},
			"HG055: Core.Net requires Core.Disk, which user.json turns off; turn Core.Net off too, or leave Core.Disk on"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := stack(t).Layered(layer(t, "user.json", c.settings))
			require.EqualError(t, err, c.want)
		})
	}
	_, err := from(t, hook.Nop{}).Layered(layer(t, "user.json", map[string]string{"Guard": "off"}))
	require.EqualError(t, err, "user.json changes members, but the hook is a hook.Nop, not a composite; pass a composite or remove the setting")
}

func TestWrongSettings(t *testing.T) {
	cases := []struct{ text, want string }{
		{`{"Guard": "of"}`, `l: Guard: HG009: unknown word "of"; did you mean "off"?`},
		{`{"Guard": "prefix=x_"}`, `l: Guard: HG009: unknown word "prefix"; the words are off, on, without`},
		{`{"Guard": "off; BeforeTool: timeout=1s"}`, "l: Guard: HG046: off excludes the member, but other options configure it; drop off, or all others"},
		{`{"Guard": "BeforeTool: timeout=fast"}`, `l: Guard: HG009: timeout wants a duration, got "fast"; timeout=2m`},
		{`{"Guard": "Schema: timeout=1s"}`, "l: Guard: HG043: timeout behind Schema does nothing: Schema gets no context that could end; drop it"},
		{`{"Guard": ""}`, `l: Guard: HG009: "" says nothing of it; write off, on, or options as in a tag:  BeforeTool: timeout=2s`},
		{`{"Guard": 1}`, `l: 1 is neither a text nor true or false; write "off", "on", or options as in a tag`},
		{`{"Guard": "off", "Guard": "on"}`, "l: Guard: given twice"},
		{`["Guard"]`, "l: must be an object"},
	}
	for _, c := range cases {
		_, err := composite.ParseLayer("l", []byte(c.text))
		require.EqualError(t, err, c.want, c.text)
	}
	l, err := composite.ParseLayer("l", []byte(`{"A": false, "B": true, "C": "off"}`))
	require.NoError(t, err)
	assert.Equal(t, layer(t, "l", map[string]string{"A": "off", "B": "on", "C": "off"}), l)
}

// What is said last counts, part by part, and what was off at a level before stays
// off for those above it.
func TestLayersOverLayers(t *testing.T) {
	user := layer(t, "user", map[string]string{"Guard": "BeforeTool: failopen,timeout=1s", "Skills": "off"})
	project := layer(t, "project", map[string]string{"Guard": "BeforeTool: timeout=2s", "Skills": "on", "Core.Net": "off"})
	h, err := stack(t).Layered(user, project)
	require.NoError(t, err)
	c := h
	assert.Equal(t, "BeforeTool:failopen,timeout=2s", c.Plan().Members[0].Points[0].String())
	assert.Equal(t, "Skills", c.Plan().Owner("skill"))
	assert.Equal(t, "Core.Disk", c.Plan().Owner("core_disk"))
	assert.Empty(t, c.Plan().Owner("core_net"))
	assert.Equal(t, []plan.Disabled{{Field: "Net", By: "project"}}, c.Plan().Members[1].Composite.Off)
	empty, err := c.Layered(layer(t, "agent", map[string]string{"Core.Disk": "off"}))
	require.NoError(t, err)
	assert.NotContains(t, empty.Plan().Member("Core").Acts(), "BeforeTool", "nobody in it acts there any more")

	assert.Contains(t, c.Plan().Text(), "\noff: Core.Net, by project\n")

	agent := layer(t, "agent a", map[string]string{"Guard": "off", "Skills": "off"})
	h, err = h.Layered(agent)
	require.NoError(t, err)
	_, err = h.Layered(layer(t, "turn", map[string]string{"Skills": "on"}))
	require.EqualError(t, err, "HG056: turn turns Skills on, but agent a has turned it off for all later layers; leave it on in agent a, and turn it off for those that are to do without it")
	same, err := h.Layered(layer(t, "turn", map[string]string{"Skills": "BeforeTool: timeout=1s"}))
	require.NoError(t, err)
	assert.Equal(t, h.Plan().Off, same.Plan().Off, "what is off can be told anything else")
	again, err := h.Layered()
	require.NoError(t, err)
	assert.Same(t, h, again, "without layers nothing is made")
}

// A layer's fail policy and timeout are those that count.
func TestLayersTune(t *testing.T) {
	call := newCall(hook.NoHost{}, "bash")
	c := stack(t)
	d, err := c.BeforeTool(t.Context(), call)
	require.NoError(t, err)
	require.True(t, d.Verdict().Kind.Denies(), "it fails closed")
	require.Equal(t, "Guard", d.Verdict().By)

	h, err := c.Layered(layer(t, "user", map[string]string{"Guard": "BeforeTool: failopen", "Core": "without=BeforeTool"}))
	require.NoError(t, err)
	d, err = h.BeforeTool(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, "Skills", d.Verdict().By, "Guard's failure is no opinion now, and Core is not asked")

	synctest.Test(t, func(t *testing.T) {
		slow := point.BeforeToolFunc(func(ctx context.Context, _ *hook.ToolCall) (hook.ToolDecision, error) {
			<-ctx.Done()
			return hook.ToolDecision{}, ctx.Err()
		})
		c, err := composite.Of("test.Slow", field("Slow", "", slow))
		require.NoError(t, err)
		h, err := c.Layered(layer(t, "user", map[string]string{"Slow": "BeforeTool: timeout=3s"}))
		require.NoError(t, err)
		d, err := h.BeforeTool(t.Context(), call)
		require.NoError(t, err)
		require.True(t, d.Verdict().Failure.Late)
		synctest.Wait()
	})
}

// What a member owned that is off is free for who knows its tools only at run time.
func TestToolsOfWhatIsOffAreFree(t *testing.T) {
	core, err := composite.Of("test.Core", field("Disk", "", &toolbox{name: "disk"}))
	require.NoError(t, err)
	c, err := composite.Of("test.Stack", field("Core", "prefix=core_", core), field("Late", "dynamic", &toolbox{name: "core_disk"}))
	require.NoError(t, err)
	h, err := c.Layered(layer(t, "user", map[string]string{"Core.Disk": "off"}))
	require.NoError(t, err)
	require.Len(t, h.Schema(), 1)
	_, owned := h.Dispatch(t.Context(), newCall(hook.NoHost{}, "core_disk"))
	require.True(t, owned)
}
