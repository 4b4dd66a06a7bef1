package script

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
)

// TestALongHistoryIsNotWalked counts the messages that an answer has looked at, from
// inside, because nothing else shows them.
func TestALongHistoryIsNotWalked(t *testing.T) {
	t.Parallel()
	s := New(Rule{When: &When{Turn: 3}, Say: "three"}, Rule{Say: "first call"}, Rule{When: &When{Call: 5}, Say: "five"}, Rule{When: &When{}, Say: "later"})
	var history message.Messages
	for turns := range 5_000 {
		history = history.Append(message.UserText("say"))
		a := &answer{view: view{req: message.ModelRequest{Messages: history}}}
		said := ""
		a.player.ctx, a.player.yield = t.Context(), func(c message.Chunk, _ error) bool { said += c.Text; return true }
		require.True(t, s.play(a))
		want := map[int]string{0: "first call", 2: "three", 4: "five"}[turns]
		if want == "" {
			want = "later"
		}
		require.Equal(t, want, said, "turn %d", turns+1)
		assert.LessOrEqual(t, a.view.walked, 2*5)
		history = history.Append(message.Message{Role: message.RoleAssistant, Content: message.UserText(said).Content})
	}
}
