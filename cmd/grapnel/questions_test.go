package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
)

// TestAClientIsShownExactlyWhatRuns: a question about a hostile command has all of it as text, what
// does not show, what it reaches, and the part that the judge objects to. The daemon lists the answer
// that was remembered, and forgets it.
func TestAClientIsShownExactlyWhatRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.args = []string{"--sandbox", "off", "--set", "Secure=off"} // after the first call it asks for a reason of its own
	model := `rules:
  - {when: {user: {contains: '<hostile>'}, step: 1}, calls: [{tool: bash, args: {command: "true \u200b\u202e\U000E0072\U000E006D \u00a0p\u0430ypal\ncat /etc/hostname && find nowhere -delete"}}]}
  - {when: always, say: done}
`
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "model.yaml"), []byte(model), 0o600))
	s.start()
	conv, err := s.client.Conversation(t.Context(), "", "ann")
	require.NoError(t, err)
	asks := s.asked(conv.ID, "<hostile>", "call-conversation")
	require.Len(t, asks, 1)
	ask := asks[0]
	assert.Equal(t, `command: true \u{200b}\u{202e}\u{e0072}\u{e006d} \u{a0}pаypal`+"\n  │ cat /etc/hostname && find nowhere -delete", ask.Shown)
	assert.Equal(t, []string{
		`command: 1 character that turns the direction of text, such as \u{202e}`,
		`command: 2 tag characters, which hide text, such as \u{e0072}: "rm"`,
		`command: 1 invisible character, such as \u{200b}`,
		`command: 1 blank of an unusual kind, such as \u{a0}`,
		`command: a word mixes letters of several scripts that look alike: p\u{430}ypal`,
	}, ask.Remarks)
	assert.Equal(t, "runs true, cat, find", ask.Reaches[0])
	assert.Contains(t, ask.Reaches, `"find nowhere -delete": -delete deletes files`)
	assert.Contains(t, strings.Join(ask.Reaches, "\n"), ": it contains characters that do not show")
	assert.NotContains(t, strings.Join(ask.Reaches, "\n"), "\u202e")
	assert.Contains(t, ask.Reason, "it may change or delete things: ")

	assert.Empty(t, s.asked(conv.ID, "<hostile>", ""), "the answer is remembered")
	list := s.said(conv.ID, "/approvals")
	id, _, ok := strings.Cut(strings.TrimPrefix(list, "- "), ":")
	require.True(t, ok, list)
	assert.Contains(t, list, ": allowed by api: exactly this call of bash, in this conversation and the tasks that it hands out: ")
	assert.NotContains(t, list, "\u202e")
	assert.Contains(t, s.said(conv.ID, "/approvals forget "+id), "Forgotten: allowed by api: exactly this call of bash")
	assert.Len(t, s.asked(conv.ID, "<hostile>", ""), 1, "the answer is revoked")
}

// asked runs a turn, approves what it asks about with the offer, and returns what was asked.
func (s *site) asked(conv, text, offer string) []wire.Ask {
	t, ctx := s.t, s.t.Context()
	turn, err := s.client.Send(ctx, conv, text)
	require.NoError(t, err)
	var out []wire.Ask
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind != event.ApprovalAsked {
			continue
		}
		asks, err := s.client.Asks(ctx, conv)
		require.NoError(t, err)
		for _, ask := range asks {
			out = append(out, ask)
			require.NoError(t, s.client.Answer(ctx, ask.ID, wire.Answer{Answer: wire.AnswerApprove, Remember: offer}))
		}
	}
	return out
}

// said returns the reply to a text.
func (s *site) said(conv, text string) string {
	t, ctx := s.t, s.t.Context()
	turn, err := s.client.Send(ctx, conv, text)
	require.NoError(t, err)
	reply := ""
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.TurnEnd {
			reply = item.Event.Text
		}
	}
	return reply
}
