package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

func busy() wire.Activity {
	now, jobs := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), 3
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	return wire.Activity{
		Time: now, Started: ago(26*time.Hour + 5*time.Minute), Status: wire.StatusOK, Approvals: 1, QueuedMessages: 2, QueuedJobs: &jobs,
		Streams: 4, Lagging: 1, Missed: 9, LateHooks: 1, Unanswered: []string{"01JN"},
		Abandoned: []wire.Abandoned{{Tool: "deaf", Count: 2}, {Hook: "Guard", Point: "BeforeTool", Count: 1}},
		Today:     &wire.SpentToday{Calls: 7, Unpriced: 1, Usage: message.Usage{Input: 1200, Output: 34}, Cost: hook.Dollar / 2},
		Turns: []wire.ActiveTurn{
			{Conversation: "01J0", Agent: "helper", Sender: "ann\x1b[2J", Since: ago(65 * time.Second), Step: 3, State: "tool", Calls: []wire.ActiveCall{
				{Tool: "bash", Agent: "helper", Since: ago(12 * time.Second)}, {Tool: "read", Agent: "sub", Since: ago(time.Second)},
			}},
			{Conversation: "01J1", Agent: "helper", Sender: "bob", State: "starting"},
		},
		Tenants: []wire.ActiveTenant{{Owner: "alice", Turns: 1, Requests: 3, Waiting: 2}},
	}
}

func TestTopText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `grapnel ok, up 1d02h
turns 2, waiting: 1 for approval, 0 for an answer, 0 for a client
queued: 2 messages, 3 jobs
streams 4, 1 lagging, 9 events missed
today: $0.5000, 7 calls of models, 1200 tokens in, 34 out (1 without a price)
abandoned: deaf ×2, Guard BeforeTool ×1, late hooks ×1
no answer, so what they do is missing: 01JN

AGENT   SENDER      STATE     FOR    STEP  CALL                 CONVERSATION
helper  ann\x1b[2J  tool      1m05s  3     bash 12s and 1 more  01J0
helper  bob         starting  -      -     -                    01J1

OWNER  TURNS  WAITING  REQUESTS  TODAY
alice  1      2        3         not known
`, topText(busy()).String())
}

// TestTopFrame: no line is wider than the screen, there are no more lines than it has rows, and what was there before is erased.
func TestTopFrame(t *testing.T) {
	t.Parallel()
	a := busy()
	for range 100 {
		a.Turns = append(a.Turns, a.Turns[1])
	}
	frame := topFrame(a, 40, 12).String()
	assert.True(t, strings.HasPrefix(frame, "\x1b[H"))
	assert.True(t, strings.HasSuffix(frame, "\x1b[K\x1b[J"))
	lines := strings.Split(frame, "\r\n")
	assert.Len(t, lines, 12)
	for _, line := range lines[:len(lines)-1] {
		text, erased := strings.CutSuffix(strings.TrimPrefix(line, "\x1b[H"), "\x1b[K")
		assert.True(t, erased, line)
		assert.NotContains(t, text, "\n")
		assert.LessOrEqual(t, len([]rune(text)), 39, text)
	}
	assert.Equal(t, "…\x1b[K", lines[10])
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", 2*time.Hour + 7*time.Minute: "2h07m", 76 * time.Hour: "3d04h",
	} {
		assert.Equal(t, want, span(d))
	}
}
