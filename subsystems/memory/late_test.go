package memory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
)

// silent is a host whose models never answer.
type silent struct{ hook.NoHost }

func (silent) CallModel(ctx context.Context, _ message.ModelRequest) (message.ModelReply, error) {
	<-ctx.Done()
	return message.ModelReply{}, ctx.Err()
}

// The composite does not bound the point, so that memory costs nothing where it is off.
func TestAClassifierThatNeverAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	m := fresh(t)
	cfg := hooktest.Agent(hook.AgentConfig{Name: "a"}.WithSection("memory", `{"recall":"auto","classifier":"model"}`))
	synctest.Test(t, func(t *testing.T) {
		turn := hooktest.Turn(hooktest.Conversation(cfg, silent{}), "What did we decide?")
		began := time.Now()
		_, err := m.TurnPolicy(t.Context(), turn)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(began))
		policies := m.Fallback(turn).TurnPolicy
		require.NotEmpty(t, policies)
		assert.Equal(t, "light", policies[0].Value, "read_only is the default")
	})
}
