package tool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
)

type box[T any] struct {
	In T `json:"in"`
}

func TestValue(t *testing.T) {
	t.Parallel()
	v := tool.ValueOf[Tide]()
	assert.Equal(t, "Tide", v.Name())
	assert.Contains(t, v.Schema(), `"harbour":{"type":"string"`)
	got, err := v.Decode(` {"harbour":"Nyborg"} `)
	require.NoError(t, err)
	assert.Equal(t, Tide{"Nyborg", 1}, got, "the default counts")
	for text, want := range map[message.JSON]string{
		`{"day":2}`:                         "tool_test.Tide: invalid argument harbour: is required",
		`{"harbour":"Nyborg","day":2} Done`: "tool_test.Tide: invalid arguments: ",
		`{"harbour":"Nyborg","harbour":""}`: "harbour",
		`{"harbour":"Nyborg","Day":2}`:      "Day",
		``:                                  "tool_test.Tide: invalid arguments: ",
		`null`:                              "tool_test.Tide: invalid arguments: ",
	} {
		got, err := v.Decode(text)
		var bad *hook.ArgError
		require.ErrorAs(t, err, &bad, string(text))
		require.ErrorContains(t, err, want)
		assert.Zero(t, got)
	}
	assert.Empty(t, tool.ValueOf[box[int]]().Name(), "providers take no brackets")
	assert.PanicsWithValue(t, "tool: ValueOf: the arguments are a struct, not []string", func() { tool.ValueOf[[]string]() })
	assert.Panics(t, func() { tool.ValueOf[struct{ F func() }]() })
}
