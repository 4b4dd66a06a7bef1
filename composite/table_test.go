package composite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// made is a generated composite: its fields are the rows.
type made struct {
	hook.Nop
	name string
	rows []composite.Row
}

func (m *made) Compose() *composite.Composite {
	return composite.Compose(m, composite.Table{Type: m.name, Rows: m.rows})
}

func row(name, tag string, h hook.Hook) composite.Row {
	return composite.Row{Field: name, Type: "hook.Hook", Tag: tag, Hook: h, Any: true}
}

// verdict is what the hook as a whole says of a call.
func verdict(t *testing.T, h hook.Hook) string {
	t.Helper()
	d, err := from(t, h).BeforeTool(t.Context(), newCall(hook.NoHost{}, "bash"))
	require.NoError(t, err)
	return d.Verdict().By + " " + string(d.Verdict().Kind)
}

// A composite's points are those of its members, whatever a table says that knows only its
// type.
func TestAMemberThatIsAGeneratedCompositeHasTheirPoints(t *testing.T) {
	inner := &made{name: "a.Inner", rows: []composite.Row{row("Guard", "", decides(hook.DenyTool("no"), nil))}}
	outer := &made{name: "b.Outer", rows: []composite.Row{{Field: "Inner", Type: "*a.Inner", Hook: inner, Points: point.Set(point.Schema, point.Dispatch)}}}
	assert.Equal(t, "Inner.Guard deny", verdict(t, outer))
}

func TestWhatCannotTakePartIsNotReady(t *testing.T) {
	deny := decides(hook.DenyTool("no"), nil)
	missing := &made{name: "a.Core", rows: []composite.Row{row("Guard", "", nil)}}
	embeds := embeds{&hidden{guard: hook.Nop{}}}
	for _, c := range []struct {
		name string
		hook hook.Hook
		want string
	}{
		{"a required field of a composite in it", &made{name: "a.Top", rows: []composite.Row{row("Core", "", missing)}},
			"Core: a.Core: required and nil: Guard; set them, or tag them optional"},
		{"of one in a group", &made{name: "a.Top", rows: []composite.Row{{Field: "Extra", IsGroup: true, Group: []hook.Hook{deny, missing}}}},
			"Extra[1]: a.Core: required and nil: Guard; set them, or tag them optional"},
		{"what embeds a composite, in a group", &made{name: "a.Top", rows: []composite.Row{{Field: "Extra", IsGroup: true, Group: []hook.Hook{embeds, deny}}}},
			"a.Top.Extra[0]: composite_test.embeds embeds composite_test.hidden"},
		{"a nil pointer in an interface", &made{name: "a.Top", rows: []composite.Row{row("Guard", "optional", (*probe)(nil))}},
			"a.Top.Guard: is a nil *composite_test.probe"},
		{"a tag that nobody understands", &made{name: "a.Top", rows: []composite.Row{row("Guard", "timeout=5", deny)}}, "a.Top.Guard: "},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorContains(t, from(t, c.hook).Ready(), c.want) })
	}
	group := &made{name: "a.Top", rows: []composite.Row{{Field: "Extra", IsGroup: true, Group: []hook.Hook{embeds, deny}}}}
	assert.Equal(t, "Extra[1] deny", verdict(t, group), "the others take part all the same")
	_, err := composite.From((*probe)(nil))
	require.EqualError(t, err, "the hook is a nil *composite_test.probe, which cannot be called; set it, or leave it nil without a type")
}

// What is put together at run time has the generated composites in it as they are when
// somebody is about to run it.
func TestFromComposesAnew(t *testing.T) {
	inner := &made{name: "a.Core", rows: []composite.Row{row("Guard", "", nil)}}
	outer, err := composite.New(&struct{ Core *made }{inner})
	require.NoError(t, err)
	require.Error(t, outer.Ready())
	inner.rows[0].Hook = decides(hook.DenyTool("no"), nil)
	assert.Equal(t, "Core.Guard deny", verdict(t, outer))
	require.NoError(t, from(t, outer).Ready())
}

// written is a composite whose author has written a method of several points.
type written struct {
	made
	fail, panics bool
	policies     bool
}

func (w *written) Compose() *composite.Composite {
	own := point.Set(point.BeforeTool, point.AfterTurn)
	if w.policies {
		own = point.Set(point.TurnPolicy)
	}
	return composite.Compose(w, composite.Table{Type: w.name, Own: own, Rows: w.rows})
}

func (w *written) BeforeTool(context.Context, *hook.ToolCall) (d hook.ToolDecision, err error) {
	if w.panics {
		panic("oops")
	}
	if w.fail {
		return d, errors.New("oops")
	}
	return d, nil
}

func (w *written) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) { panic("oops") }

func (w *written) TurnPolicy(ctx context.Context, turn *hook.Turn) ([]hook.Policy, error) {
	return composite.Members(w).TurnPolicy(ctx, turn)
}

// What the tag of a composite says holds for the methods that its author has written, and
// their failures are the composite's.
func TestAnAuthorsMethodIsCalledAsTheMember(t *testing.T) {
	for _, c := range []struct {
		tag  string
		hook *written
		want string
	}{
		{"", &written{fail: true}, "Core deny"},
		{"", &written{panics: true}, "Core deny"},
		{"BeforeTool: failopen", &written{fail: true}, " "},
		{"BeforeTool: failopen", &written{panics: true}, " "},
	} {
		c.hook.name = "a.Core"
		outer := &made{name: "a.Top", rows: []composite.Row{row("Core", c.tag, c.hook)}}
		assert.Equal(t, c.want, verdict(t, outer), "%+v", c)
	}
	host := new(hears)
	c := from(t, &made{name: "a.Top", rows: []composite.Row{row("Core", "", &written{made: made{name: "a.Core"}})}})
	c.AfterTurn(t.Context(), newCall(host, "bash").Step().Turn(), hook.TurnOutcome{})
	require.Len(t, host.text, 1)
	assert.Contains(t, host.text[0], `"text":"Core failed at AfterTurn"`)
}

// The failure of a member that closes its composite closes those around it, unless their
// tags say otherwise, also if an author's method hands it on.
func TestAContributorThatFailsClosedClosesWhatIsAroundIt(t *testing.T) {
	down := point.TurnPolicyFunc(func(context.Context, *hook.Turn) ([]hook.Policy, error) { return nil, errors.New("down") })
	rows := []composite.Row{row("P", "TurnPolicy: failclosed", down)}
	for name, core := range map[string]hook.Hook{
		"generated": &made{name: "a.Core", rows: rows}, "by its author": &written{made: made{name: "a.Core", rows: rows}, policies: true},
	} {
		t.Run(name, func(t *testing.T) {
			turn := newCall(new(hears), "bash").Step().Turn()
			_, err := from(t, core).TurnPolicy(t.Context(), turn)
			require.ErrorContains(t, err, "P: TurnPolicy: down")
			_, err = from(t, &made{name: "a.Top", rows: []composite.Row{row("Core", "", core)}}).TurnPolicy(t.Context(), turn)
			require.ErrorContains(t, err, "Core.P: TurnPolicy: down")
			_, err = from(t, &made{name: "a.Top", rows: []composite.Row{row("Core", "TurnPolicy: failopen", core)}}).TurnPolicy(t.Context(), turn)
			require.NoError(t, err)
		})
	}
}

// closes is a composite whose author has written only the method that closes.
type closes struct {
	made
	log *log
}

func (c *closes) Compose() *composite.Composite {
	return composite.Compose(c, composite.Table{Type: c.name, Own: point.Set(point.OnClose), Rows: c.rows})
}

func (c *closes) OnClose(ctx context.Context) error {
	c.log.add("own close")
	return composite.Members(c).OnClose(ctx)
}

func TestWhatWasNotOpenedIsNotClosed(t *testing.T) {
	l := new(log)
	b := &probe{log: l, name: "B", err: map[hook.Point]error{point.OnOpen: errors.New("oops")}}
	c := from(t, &closes{log: l, made: made{name: "a.Top", rows: []composite.Row{
		row("A", "", &probe{log: l, name: "A"}), row("B", "", b), row("C", "", &probe{log: l, name: "C"}),
	}}})
	require.Error(t, c.OnOpen(t.Context(), hook.NoHost{}))
	assert.Equal(t, []string{"A.OnOpen", "B.OnOpen", "A.OnClose"}, l.lines)
}

// With is not for composites whose plan somebody else has made.
func TestWithRefusesWhatItWouldChange(t *testing.T) {
	generated := from(t, &made{name: "a.Top", rows: []composite.Row{row("A", "", hook.Nop{})}})
	dynamic, err := composite.Of("a.Fields", field("A", "", &probe{log: new(log)}), field("B", "", hook.Nop{}))
	require.NoError(t, err)
	layered, err := dynamic.Layered(layer(t, "user", map[string]string{"A": "off"}))
	require.NoError(t, err)
	for _, c := range []*composite.Composite{generated, layered, dynamic.Recorded(nil), from(t, hook.Nop{})} {
		_, err := c.With("More", hook.Nop{}, field("", "", nil).Options)
		require.ErrorContains(t, err, "cannot get another member")
	}
	_, err = dynamic.With("More", hook.Nop{}, field("", "", nil).Options)
	require.NoError(t, err)
}

// A hook that gives up because its turn is over has not failed; one that panics has.
func TestWhoGivesUpWithTheTurnHasNotFailed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for err, told := range map[string]int{"returned": 0, "panic": 1} {
		host := new(hears)
		gives := point.BeforeToolFunc(func(ctx context.Context, _ *hook.ToolCall) (d hook.ToolDecision, _ error) {
			if err == "panic" {
				panic(fmt.Errorf("panic: %w", ctx.Err()))
			}
			return d, ctx.Err()
		})
		_, failed := from(t, &made{name: "a.Top", rows: []composite.Row{row("A", "BeforeTool: failopen", gives)}}).BeforeTool(ctx, newCall(host, "bash"))
		require.NoError(t, failed)
		assert.Len(t, host.text, told, err)
	}
}
