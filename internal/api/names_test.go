package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
)

// badSenders stand in no list and in no question.
func badSenders() []string {
	return []string{"a\x00b", "a\nb", "a\tb", "\x1b[2J", "a\u202eb", "a\u200b", "\u3164", "\u2028", strings.Repeat("x", 1<<20), strings.Repeat("x", 257)}
}

// TestNamesThatNobodyCanReadBeginNothing: every door by which a conversation begins.
func TestNamesThatNobodyCanReadBeginNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	w.turn(conv.ID, "hi")
	var file strings.Builder
	require.NoError(t, w.client.Export(t.Context(), conv.ID, &file))
	for _, sender := range badSenders() {
		for name, do := range map[string]func() error{
			"open": func() error { _, err := w.direct.Conversation(t.Context(), "helper", sender); return err },
			"fork": func() error {
				_, err := w.direct.Fork(t.Context(), conv.ID, wire.NewFork{Turns: 1, Sender: sender})
				return err
			},
		} {
			err := do()
			assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), "%s %.20q: %v", name, sender, err)
			assert.ErrorContains(t, err, "the sender has ", name)
			assert.Less(t, len(err.Error()), 300)
		}
		if len(sender) < 1<<10 { // a longer one is no URL
			_, err := w.direct.Import(t.Context(), strings.NewReader(file.String()), "", sender)
			assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), "%.20q: %v", sender, err)
		}
	}
	for _, agent := range []string{"../x", "a/b", "..", strings.Repeat("a", 1<<10)} {
		_, err := w.direct.Import(t.Context(), strings.NewReader(file.String()), agent, "x")
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), "%.20q: %v", agent, err)
		_, err = w.direct.Conversation(t.Context(), agent, "x")
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
		assert.Less(t, len(err.Error()), 300)
		assert.Equal(t, http.StatusBadRequest, w.posts("/v1/agents", `{"name":"`+agent+`","description":"d","instructions":"i"}`))
	}
	for _, id := range append(badSenders(), "../x", "%2e%2e%2fx") {
		_, err := w.direct.Messages(t.Context(), url.PathEscape(id[:min(len(id), 1<<10)]))
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "%.20q: %v", id, err)
	}
	all, err := w.store.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
}

// TestAnImportIsJudgedWhole: the error names the line and the member, and nothing is
// written.
func TestAnImportIsJudgedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	w.turn(conv.ID, "hi")
	w.turn(conv.ID, `call echo {"s":"x"}`)
	var file strings.Builder
	require.NoError(t, w.client.Export(t.Context(), conv.ID, &file))
	text := strings.Replace(file.String(), `"sender":"ann"`, `"sender":"bob"`, 1)
	lines := strings.SplitAfter(text, "\n")
	swap := func(text string) string {
		return strings.NewReplacer(`"role":"user"`, `"role":"assistant"`, `"role":"assistant"`, `"role":"user"`).Replace(text)
	}
	for name, c := range map[string]struct{ file, says string }{
		"reversed roles":                {swap(text), "line 2: message.role: "},
		"reversed roles in turn 2 only": {strings.Join(lines[:3], "") + swap(strings.Join(lines[3:], "")), "line 4: message.role: "},
		"an agent that is a path":       {strings.Replace(text, `"agent":"helper"`, `"agent":"../x"`, 1), `store: no conversation can have that name: the agent "../x"`},
		"a sender that hides":           {strings.Replace(text, `"sender":"bob"`, `"sender":"bob\u202e"`, 1), "which cannot be seen; give one without it, or import it under another agent or sender"},
		"cut in the middle of a line":   {text[:len(text)-9], "line "},
		"another tool's result":         {strings.Replace(text, `"tool":"echo","result"`, `"tool":"fail","result"`, 1), "message.tool"},
	} {
		require.NotEqual(t, text, c.file, name)
		_, err := w.client.Import(t.Context(), strings.NewReader(c.file), "", "")
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), name)
		assert.ErrorContains(t, err, c.says, name)
	}
	all, err := w.store.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1, "nothing was written")
	_, err = w.client.Import(t.Context(), strings.NewReader(text), "", "")
	require.NoError(t, err)
	odd := strings.NewReplacer(`"agent":"helper"`, `"agent":"../x"`, `"sender":"bob"`, `"sender":" "`).Replace(text)
	made, err := w.client.Import(t.Context(), strings.NewReader(odd), "helper", "eve")
	require.NoError(t, err, "the names in the file do not count")
	assert.Equal(t, []string{"helper", "eve"}, []string{made.Agent, made.Sender})
}
