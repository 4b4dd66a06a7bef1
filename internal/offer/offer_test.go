package offer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/offer"
)

func set(names ...string) *message.ToolSet {
	var tools []message.Tool
	for _, n := range names {
		tools = append(tools, message.Tool{Name: n})
	}
	return message.NewToolSet(tools)
}

func names(s *message.ToolSet) (out []string) {
	for _, t := range s.Tools().All() {
		out = append(out, t.Name)
	}
	return out
}

func TestFilter(t *testing.T) {
	t.Parallel()
	all := set("a", "b", "c")
	assert.Same(t, all, offer.Filter(all, func(message.Tool) bool { return true }), "its encodings stay cached")
	assert.Equal(t, []string{"a", "c"}, names(offer.Filter(all, func(t message.Tool) bool { return t.Name != "b" })))
	assert.Equal(t, []string{"a", "b", "c"}, names(all))
	assert.Empty(t, names(offer.Filter(nil, func(message.Tool) bool { return false })))
}

func TestOnly(t *testing.T) {
	t.Parallel()
	all, some, none := set("a", "b"), set("b"), set()
	forced := func(tool string) message.ToolChoice {
		return message.ToolChoice{Mode: message.ToolChoiceTool, Tool: tool}
	}
	for name, tt := range map[string]struct {
		set    *message.ToolSet
		choice message.ToolChoice
		tools  []string
		want   message.ToolChoice
	}{
		"fewer":                    {some, message.ToolChoice{}, []string{"b"}, message.ToolChoice{}},
		"a forced tool that stays": {some, forced("b"), []string{"b"}, forced("b")},
		"a forced tool that goes":  {some, forced("a"), []string{"b"}, message.ToolChoice{}},
		"none left":                {none, message.ToolChoice{Mode: message.ToolChoiceRequired}, []string{"a", "b"}, message.ToolChoice{Mode: message.ToolChoiceNone}},
	} {
		got := offer.Only(message.ModelRequest{Tools: all, Model: message.Model{Choice: tt.choice}}, tt.set)
		assert.Equal(t, tt.tools, names(got.Tools), name)
		assert.Equal(t, tt.want, got.Model.Choice, name)
	}
	got := offer.Only(message.ModelRequest{}, none)
	assert.Equal(t, message.ToolChoice{}, got.Model.Choice, "a request without tools stays as it is")
}
