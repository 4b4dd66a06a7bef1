package guard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/guard"
)

// worker is a model that calls a tool that nobody has, for ever, and counts.
type worker struct{ asked int }

func (w *worker) Stream(_ context.Context, _ message.ModelRequest) message.ModelStream {
	w.asked++
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range []message.Chunk{
			{Kind: message.ChunkCallStart, Tool: "x"}, {Kind: message.ChunkCallEnd},
			{Kind: message.ChunkFinish, Finish: message.FinishTools, Usage: message.Usage{Input: 10}},
		} {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// What an agent's section says of steps holds in a real turn, above the runtime's default
// of 20 and below it.
func TestTheLimitOfStepsMeetsTheRuntimes(t *testing.T) {
	t.Parallel()
	off := guard.Limits{Steps: guard.Off, Tokens: guard.Off, Time: guard.Off}
	fifty := off
	fifty.Steps = 50
	for name, tc := range map[string]struct {
		turn    guard.Limits
		section message.JSON
		own     int
		asked   int
		stop    hook.StopReason
	}{
		"nobody says anything":         {off, "", 0, 20, hook.StopStepsLimit},
		"a section with more":          {off, `{"steps":50}`, 0, 50, hook.StopStepsLimit},
		"a section with less":          {off, `{"steps":5}`, 0, 5, hook.StopStepsLimit},
		"a section with none":          {off, `{"steps":-1,"tokens":600}`, 0, 60, hook.StopTokenLimit},
		"more for all":                 {fifty, "", 0, 50, hook.StopStepsLimit},
		"none but for all":             {fifty, `{"steps":-1,"tokens":600}`, 0, 60, hook.StopTokenLimit},
		"the agent's own limit":        {off, "", 30, 30, hook.StopStepsLimit},
		"both, the section with more":  {off, `{"steps":50}`, 30, 30, hook.StopStepsLimit},
		"both, the section with less":  {off, `{"steps":25}`, 30, 25, hook.StopStepsLimit},
		"no limit, beside the other's": {off, `{"steps":25}`, -1, 25, hook.StopStepsLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &worker{}
			rt := runtime.New(guard.New(&guard.Options{Turn: tc.turn}), m, nil)
			require.NoError(t, rt.Open(t.Context()))
			defer func() { assert.NoError(t, rt.Close(context.Background())) }()
			cfg := hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: tc.own}}
			if tc.section != "" {
				cfg = cfg.WithSection("guard", tc.section)
			}
			_, err := rt.Register(t.Context(), cfg)
			require.NoError(t, err)
			conv, err := dialog.Conversation(t.Context(), rt, "a", "s")
			require.NoError(t, err)
			out, err := dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
			require.NoError(t, err)
			assert.Equal(t, tc.stop, out.Stop)
			assert.Equal(t, tc.asked, m.asked)
			assert.Equal(t, tc.asked, out.Steps, "and the turn reports as many steps as there were")
		})
	}
}
