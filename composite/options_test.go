package composite_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
)

// gate has points that decide, contribute and observe.
type gateOfAll struct{ hook.Nop }

var (
	_ hook.BeforeTool = gateOfAll{}
	_ hook.AfterTurn  = gateOfAll{}
)

func (gateOfAll) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.DenyTool("no"), nil
}
func (gateOfAll) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) {}

// TestOptionsInCodeAreHeldToTheWordsOfTags: what a tag would be refused for is refused
// of options that are made in code, with the nearest word; so is a layer.
func TestOptionsInCodeAreHeldToTheWordsOfTags(t *testing.T) {
	t.Parallel()
	at := func(u plan.PointUse) plan.Options { return plan.Options{Points: []plan.PointUse{u}} }
	for _, c := range []struct {
		options plan.Options
		want    string
	}{
		{at(plan.PointUse{Name: "BeforeTool", Policy: "failopne"}), `unknown word "failopne"; did you mean "failopen"?`},
		{at(plan.PointUse{Name: "BeforeTool", Policy: "open"}), `unknown word "open"`},
		{at(plan.PointUse{Name: "AfterTurn", Mode: "recrod"}), `unknown word "recrod"; did you mean "record"?`},
		{at(plan.PointUse{Name: "BeforeTool", Mode: "record"}), `record behind BeforeTool does nothing`},
		{at(plan.PointUse{Name: "BeforeTool", Visibility: "audti"}), `visibility is internal, debug, audit, user, not "audti"; did you mean "audit"?`},
		{at(plan.PointUse{Name: "BeforTool", Policy: "failopen"}), `unknown point "BeforTool"; did you mean "BeforeTool"?`},
		{at(plan.PointUse{Name: "BeforeTool", Timeout: plan.Duration(-time.Second)}), `timeout wants a duration, got "-1s"`},
		{plan.Options{Only: []string{"BeforTool"}}, `unknown point "BeforTool" in only=; did you mean "BeforeTool"?`},
		{plan.Options{Without: []string{"OnEvnt"}}, `unknown point "OnEvnt" in without=; did you mean "OnEvent"?`},
		{plan.Options{Only: []string{"BeforeTool"}, Without: []string{"OnEvent"}}, "only= and without= together"},
		{plan.Options{Match: []plan.Pattern{{Kind: "tol", Glob: "bash"}}}, `match= cannot look at "tol"; match=tool:bash`},
		{plan.Options{Match: []plan.Pattern{{Kind: "tool", Glob: "ba sh"}}}, `can never match a name`},
		{plan.Options{Match: []plan.Pattern{{Kind: "command", Glob: "a,optional"}}}, "cannot be written as the tag"},
		{plan.Options{Prefix: "a b"}, "only letters, digits, _ and - can stand in a tool name"},
		{plan.Options{Prefix: "a,optional"}, "cannot be written as the tag"},
		{plan.Options{Points: []plan.PointUse{{Name: "BeforeTool", Policy: "failopen"}, {Name: "BeforeTool", Policy: "failclosed"}}}, "has the fail policy failopen and also failclosed"},
	} {
		_, err := composite.Of("test.Fields", composite.Field{Name: "Gate", Hook: gateOfAll{}, Options: c.options})
		assert.ErrorContains(t, err, c.want, "%+v", c.options)
		empty, err := composite.Of("test.Fields")
		require.NoError(t, err)
		_, err = empty.With("Gate", gateOfAll{}, c.options)
		assert.ErrorContains(t, err, "Gate: ", "%+v", c.options)
	}
	good := plan.Options{Optional: true, Prefix: "a_", Without: []string{"OnEvent"}, Match: []plan.Pattern{{Kind: "tool", Glob: "mcp__*"}}, Points: []plan.PointUse{
		{Name: "BeforeTool", Kind: "decide", Policy: "failopen", Timeout: plan.Duration(time.Second), Visibility: "user"}, {Name: "AfterTurn", Mode: "record"}, {Name: "OnBuildAgent"},
	}}
	c, err := composite.Of("test.Fields", composite.Field{Name: "Gate", Hook: gateOfAll{}, Options: good})
	require.NoError(t, err)
	_, err = c.Layered(plan.Layer{Source: "code", Settings: []plan.Setting{{Member: "Gate", Points: at(plan.PointUse{Name: "BeforeTool", Policy: "failopne"}).Points}}})
	require.Error(t, err)
	assert.True(t, strings.Contains(err.Error(), `code: Gate: unknown word "failopne"; did you mean "failopen"?`), err)
}
