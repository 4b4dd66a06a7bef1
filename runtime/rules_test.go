package runtime_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
)

func TestLawWhateverAModelSendsTheHistoryKeepsTheRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for name, sent := range map[string][]want{
		"no ids":                         {{"", "x", "{}"}, {"", "x", "{}"}},
		"one id for two calls":           {{"1", "x", "{}"}, {"1", "x", "{}"}},
		"ids that Anthropic refuses":     {{"functions.x:0", "x", "{}"}, {"call|x", "x", "{}"}},
		"an id too long for OpenAI":      {{strings.Repeat("1", 41), "x", "{}"}},
		"names that no tool can have":    {{"1", "my tool", "{}"}, {"2", "x.y", "{}"}, {"3", long, "{}"}, {"4", "día", "{}"}},
		"arguments that nobody can read": {{"1", "x", `{"s":`}, {"2", "x", ""}, {"3", "x", "[]"}, {"4", "x", `{"s":"\ud83d"}`}, {"5", "nope", "\xff"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The same calls twice: then the ids are those of the history, too.
			m := plays(calls(sent...), calls(sent...), says("done"))
			w := start(t, m, box(named("x")))
			out, err := w.try(t.Context(), "go")
			require.NoError(t, err)
			assert.Equal(t, "done", out.Text())
			stored, err := w.store.Messages(t.Context(), w.conv.ID())
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(stored), 2+2*(1+len(sent)))
			assert.Empty(t, history.Check(stored))
			for _, req := range m.requests {
				assert.Empty(t, history.Check(req.Messages.Slice()), "what the model was sent")
			}
			if tool := stored[2].Tool; sent[0].tool != tool {
				assert.Equal(t, message.FailNotRegistered, stored[2].Result.Failure)
				assert.Contains(t, stored[2].Result.Text(), sent[0].tool, "the model is told the name that it used")
			}
		})
	}
}

func TestAReplyOfBlanksIsNoReply(t *testing.T) {
	t.Parallel()
	w := start(t, plays(says(" \n"), says("done")))
	assert.Equal(t, hook.StopNoAction, w.send("go").Stop)
	assert.Equal(t, []string{"user go"}, w.history())
	assert.Equal(t, hook.StopCompleted, w.send("again").Stop)
}

func TestAMessageOfBlanksIsRefused(t *testing.T) {
	t.Parallel()
	w := start(t, plays(says("done")))
	_, err := w.try(t.Context(), " \t\n")
	require.ErrorContains(t, err, "input message 0 is empty")
	assert.Empty(t, w.history())
}
