package calls_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

func TestAnInquiryThatCannotBePutSaysWhy(t *testing.T) {
	t.Parallel()
	one := message.ListOf(hook.Question{Text: "Which?"})
	var texts []string
	var early error
	var w *rig.World
	ask := rig.Tool{Tool: message.Tool{Name: "ask", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		early = w.Runtime.Answer(w.Conv.ID(), "", "ann", hook.Response{})
		answer := hook.Response{Given: message.ListOf(hook.Given{Text: "this"})}
		if err := w.Runtime.Answer(w.Conv.ID(), env.Key, "ann", answer); err != nil {
			texts = append(texts, err.Error())
		}
		for _, q := range []hook.Inquiry{{Questions: one}, {ID: "x"}, {ID: env.Key, Questions: one}, {ID: env.Key, Questions: one}} {
			text := "asked"
			if _, err := env.Call.Host().Ask(ctx, q); err != nil {
				text = err.Error()
			}
			texts = append(texts, text)
		}
		return message.TextResult("done")
	}}
	w = rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "ask", `{}`)), rig.Says("so")), rig.Box(ask))
	_, err := w.Try(t.Context(), "hi")
	require.NoError(t, err)
	require.ErrorIs(t, early, runtime.ErrRequestUnknown, "no inquiry has an empty id")
	require.Len(t, texts, 4)
	assert.Contains(t, texts[0], "set Inquiry.ID to the key of the call that asks")
	assert.Contains(t, texts[1], `inquiry "x" has no question`)
	assert.Equal(t, "asked", texts[2])
	assert.Contains(t, texts[3], "was made before in this turn; put all questions into one")
}
