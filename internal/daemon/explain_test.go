package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
)

// TestWhatAPersonIsToldOfACall: before the call, what the sandbox would let it do; behind it, who decided; and the second who answers,
// what the first said.
func TestWhatAPersonIsToldOfACall(t *testing.T) {
	t.Parallel()
	paths := project(t)
	script := "rules:\n- when: {step: 1}\n  calls: [{tool: bash, args: {command: \"true\", needs: [connect proxy.golang.org]}}]\n- {when: always, say: Done.}\n"
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte(script), 0o600))
	o := app.Options{Paths: paths, Note: note, RecordHooks: true}
	require.NoError(t, daemon.Within(t.Context(), o, func(c *client.Client) error {
		ctx := t.Context()
		box, err := c.Sandbox(ctx)
		require.NoError(t, err)
		assert.Equal(t, "project", box.Mode)
		assert.Equal(t, paths.Root, box.Project)
		assert.NotNil(t, box.Hosts)
		assert.Contains(t, box.Variables, "PATH")

		conv, err := c.Conversation(ctx, "helper", "ann")
		require.NoError(t, err)
		turn, err := c.Send(ctx, conv.ID, "Go.")
		require.NoError(t, err)
		var asks []wire.Ask
		require.Eventually(t, func() bool {
			asks, err = c.Asks(ctx, conv.ID)
			require.NoError(t, err)
			return len(asks) == 1
		}, time.Minute, 10*time.Millisecond)
		said := strings.Join(asks[0].Sandbox, "\n")
		if box.Level != "none" {
			assert.Contains(t, said, "It could change: ")
			assert.Contains(t, said, paths.Root)
		}
		if box.Level == "full" {
			assert.Contains(t, said, "It could reach proxy.golang.org, and no other host.")
		}
		require.NoError(t, c.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerRefuse, Reason: "not today", By: "ann"}))
		err = c.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove, By: "bob"})
		assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
		assert.ErrorContains(t, err, "ann refused it at ")
		for _, err := range c.Follow(ctx, turn) {
			require.NoError(t, err)
		}

		call, err := c.ExplainCall(ctx, conv.ID, turn.ID, asks[0].CallID)
		require.NoError(t, err)
		assert.Equal(t, message.OutcomeDenied, call.Outcome)
		assert.Equal(t, "OS", call.Owner)
		counted := map[string]string{}
		for _, p := range call.Points {
			for _, r := range p.Runs {
				if r.Counts {
					counted[p.Point] = r.Field + ": " + string(r.Answer)
				}
			}
		}
		assert.Equal(t, "Policy: ask", counted["BeforeTool"])
		assert.Equal(t, "Approval: refuse", counted["Approve"])
		return nil
	}))
}
