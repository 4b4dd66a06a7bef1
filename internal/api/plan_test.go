package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/internal/api"
)

// TestThePlanByPoint: a page draws it in the order of the lifecycle, with the options of the tags.
func TestThePlanByPoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	status, body := w.bare(http.MethodGet, "/v1/plan")
	require.Equal(t, http.StatusOK, status)
	var got struct {
		Members []struct{ Field string }
		Points  []struct {
			Name, Kind, Scope string
			Calls             []struct {
				Member string
				Order  int
				Use    struct{ Visibility string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(body, &got))
	assert.Len(t, got.Members, 4)
	at := map[string]int{}
	for i, p := range got.Points {
		at[p.Name] = i
		assert.NotEmpty(t, p.Calls, p.Name)
	}
	before := got.Points[at["BeforeTool"]]
	assert.Equal(t, "decide, tool call", before.Kind+", "+before.Scope)
	assert.Equal(t, "Ask", before.Calls[0].Member)
	assert.Equal(t, "user", before.Calls[0].Use.Visibility)
	assert.Less(t, at["BeforeTool"], at["Approve"])
	assert.Less(t, at["Approve"], at["OnClose"])
}

// TestThePlanOfWhateverACompositeCanHave: all that a plan may say is in the document.
func TestThePlanOfWhateverACompositeCanHave(t *testing.T) {
	t.Parallel()
	inner := &plan.Plan{Type: "app.Inner", Members: []plan.Member{{Field: "Deep", Type: "*app.Deep", Points: []plan.PointUse{{Name: "AfterTool", Kind: "decide"}}}}}
	p := &plan.Plan{
		Type: "app.Hooks", Own: []string{"OnEvent"}, Off: []plan.Disabled{{Field: "Cache", By: "the project"}},
		Members: []plan.Member{
			{
				Field: "Tools", Type: "*app.Tools", Optional: true, Dynamic: true, Version: 2, Prefix: "x_", Requires: []string{"Log"}, Match: []string{"bash(git *)"},
				Tools: []string{"x_run"}, Points: []plan.PointUse{
					{Name: "BeforeTool", Kind: "decide", Policy: "failopen", Timeout: plan.Duration(2 * time.Minute), Visibility: "audit"},
					{Name: "OnEvent", Kind: "observe", Mode: "background"},
				},
			},
			{Field: "More", Type: "[]hook.Hook", Group: true},
			{Field: "Inner", Type: "app.Inner", Points: inner.Members[0].Points, Composite: inner},
		},
	}
	w := newWorld(t, &worldOptions{api: api.Options{Plan: p}})
	status, body := w.bare(http.MethodGet, "/v1/plan")
	require.Equal(t, http.StatusOK, status)
	for _, text := range []string{`"by":"the project"`, `"maybe":true`, `"timeout":"2m"`, `"mode":"background"`, `"Inner.Deep"`, `"own":true`} {
		assert.Contains(t, string(body), text)
	}
	got, err := w.client.Plan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, *p, got, "the client reads the plan as it is")
}
