package schemas_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
)

// made returns the tools of Moved, made by package hook/tool.
func made() hook.Hook {
	var m schemas.Moved
	return tool.Set(
		tool.New("moved_texts", "MovedTexts returns its input.", m.MovedTexts, nil),
		tool.New("moved_formats", "MovedFormats returns its input.", m.MovedFormats, nil),
		tool.New("moved_numbers", "MovedNumbers returns its input.", m.MovedNumbers, &tool.Options{
			Annotations: message.Annotations{ReadOnly: true, Idempotent: true},
			Timeout:     time.Minute, Exclusive: "numbers", MaxResult: 9, Waits: true,
		}),
		tool.New("moved_nested", "MovedNested returns its input.", m.MovedNested, nil),
		tool.New("moved_special", "MovedSpecial returns its input.", m.MovedSpecial, nil),
		tool.New("moved_nothing", "MovedNothing takes nothing.", m.MovedNothing, nil),
	)
}

// parsed reads a schema without what means nothing: the words that package tool has for any value, and the descriptions that are
// comments for the generator alone.
func parsed(t *testing.T, text message.JSON, comments bool) map[string]any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &doc), text)
	var clean func(v any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if d, ok := v["description"].(string); ok && (comments || d == "Any value.") {
				delete(v, "description")
			}
			for _, inner := range v {
				clean(inner)
			}
		case []any:
			for _, inner := range v {
				clean(inner)
			}
		}
	}
	clean(doc)
	return doc
}

// For one type the schemas of generator and package tool mean the same, and so does all else that a tool says of itself.
func TestMovedSchemasAreAlike(t *testing.T) {
	t.Parallel()
	want, got := schemas.Moved{}.Schema(), made().Schema()
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		assert.Equal(t, parsed(t, w.Input, w.Name == "moved_formats"), parsed(t, g.Input, false), w.Name)
		w.Input, g.Input, w.Output, g.Output = "", "", "", ""
		assert.Equal(t, w, g)
	}
}

// What one of them accepts or refuses the other does too, with the same words about the same place; and the same arguments become
// the same values, which become the same results.
func TestMovedArgumentsAreReadAlike(t *testing.T) {
	t.Parallel()
	var generated schemas.Moved
	twin := made()
	for _, d := range generated.Schema() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			var doc map[string]any
			require.NoError(t, json.Unmarshal([]byte(d.Input), &doc))
			n := &near{Rand: rand.New(rand.NewPCG(7, 8))}
			accepted, refused := 0, 0
			for i := range min(*cases/30, 20_000) {
				n.wrong = []int{0, 1, 1, 3}[i%4]
				text := n.value(doc, 0)
				call := hook.NewToolCall(hook.ToolCallData{Tool: d, Args: message.JSON(text)})
				want, owned := generated.Dispatch(t.Context(), call)
				require.True(t, owned)
				got, owned := twin.Dispatch(t.Context(), call)
				require.True(t, owned)
				require.Equal(t, want.Args(), got.Args(), text)
				if bad := want.Err(); bad != nil {
					refused++
					require.NotNil(t, got.Err(), "accepted: %s\n%v", text, bad)
					require.Equal(t, bad.Error(), got.Err().Error(), text)
					continue
				}
				accepted++
				require.Nil(t, got.Err(), text)
				env := &hook.Env{Call: call}
				require.Equal(t, want.Runner().Run(t.Context(), env), got.Runner().Run(t.Context(), env), text)
			}
			assert.Positive(t, accepted)
			assert.Positive(t, refused)
		})
	}
}

// The kit has nothing against a set; the special tools are left out, because they take any value.
func TestMovedConforms(t *testing.T) {
	hooktest.Run(t, func(*testing.T) hook.Hook {
		var m schemas.Moved
		return tool.Set(
			tool.New("moved_texts", "MovedTexts returns its input.", m.MovedTexts, nil),
			tool.New("moved_numbers", "MovedNumbers returns its input.", m.MovedNumbers, nil),
			tool.New("moved_nested", "MovedNested returns its input.", m.MovedNested, nil),
			tool.New("moved_nothing", "MovedNothing takes nothing.", m.MovedNothing, nil),
		)
	}, nil)
}
