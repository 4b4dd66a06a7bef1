package calls_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/rig"
)

func TestLawWhateverAModelSendsTheHistoryKeepsTheRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for name, sent := range map[string][]rig.ToolCall{
		"no ids":                         {rig.Call("", "x", "{}"), rig.Call("", "x", "{}")},
		"one id for two calls":           {rig.Call("1", "x", "{}"), rig.Call("1", "x", "{}")},
		"ids that Anthropic refuses":     {rig.Call("functions.x:0", "x", "{}"), rig.Call("call|x", "x", "{}")},
		"an id too long for OpenAI":      {rig.Call(strings.Repeat("1", 41), "x", "{}")},
		"names that no tool can have":    {rig.Call("1", "my tool", "{}"), rig.Call("2", "x.y", "{}"), rig.Call("3", long, "{}"), rig.Call("4", "día", "{}")},
		"arguments that nobody can read": {rig.Call("1", "x", `{"s":`), rig.Call("2", "x", ""), rig.Call("3", "x", "[]"), rig.Call("4", "x", `{"s":"\ud83d"}`), rig.Call("5", "nope", "\xff")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The same calls twice: then the ids are those of the history, too.
			m := rig.Plays(rig.Calls(sent...), rig.Calls(sent...), rig.Says("done"))
			w := rig.Start(t, m, rig.Box(rig.Named("x")))
			out, err := w.Try(t.Context(), "go")
			require.NoError(t, err)
			assert.Equal(t, "done", out.Text())
			stored, err := w.Store.Messages(t.Context(), w.Conv.ID())
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(stored), 2+2*(1+len(sent)))
			assert.Empty(t, history.Check(stored))
			for _, req := range m.Requests {
				assert.Empty(t, history.Check(req.Messages.Slice()), "what the model was sent")
			}
			if tool := stored[2].Tool; sent[0].Tool != tool {
				assert.Equal(t, message.FailNotRegistered, stored[2].Result.Failure)
				assert.Contains(t, stored[2].Result.Text(), sent[0].Tool, "the model is told the name that it used")
			}
		})
	}
}

func TestAReplyOfBlanksIsNoReply(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says(" \n"), rig.Says("done")))
	assert.Equal(t, hook.StopNoAction, w.Send("go").Stop)
	assert.Equal(t, []string{"user go"}, w.History())
	assert.Equal(t, hook.StopCompleted, w.Send("again").Stop)
}

func TestAMessageOfBlanksIsRefused(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("done")))
	_, err := w.Try(t.Context(), " \t\n")
	require.ErrorContains(t, err, "input message 0 is empty")
	assert.Empty(t, w.History())
}
