package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
