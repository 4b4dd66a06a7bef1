package models_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Whatever is done to a conversation, the vendors' servers take every request
// that comes of it.
func TestSpecVendorsTakeWhatBecomesOfAConversation(t *testing.T) {
	t.Parallel()
	vendors := map[string]func(provider.Provider) *strictwire.Server{"openai": strictwire.OpenAI, "anthropic": strictwire.Anthropic}
	for name, vendor := range vendors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := vendor(rig.Slowly(rig.Seconds))
				rt := runtime.New(rig.Box(rig.Named("echo")), server, nil)
				require.NoError(t, rt.Open(t.Context()))
				for _, name := range []string{"a", "guest"} {
					_, err := rt.Register(t.Context(), hook.AgentConfig{Name: name})
					require.NoError(t, err)
				}
				conv, err := dialog.Conversation(t.Context(), rt, "a", "ann")
				require.NoError(t, err)
				send := func(c *runtime.Conversation, line, guest string) {
					t.Helper()
					_, err := dialog.Send(t.Context(), c, message.TextInput(line), &runtime.TurnOptions{Guest: guest})
					require.NoError(t, err)
				}
				compact := func(keep, archived int) {
					t.Helper()
					made, err := conv.Compact(t.Context(), &runtime.CompactOptions{Keep: keep})
					require.NoError(t, err)
					assert.Equal(t, archived, made.Archived)
				}

				send(conv, "call", "")
				send(conv, "what do you think?", "guest")
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = dialog.Send(t.Context(), conv, message.TextInput("call"), nil)
				}()
				time.Sleep(500 * time.Millisecond)
				require.NoError(t, dialog.Steer(t.Context(), conv, message.TextInput("call once more")))
				time.Sleep(time.Second)
				require.True(t, dialog.Stop(conv))
				<-ended

				fork, err := conv.Fork(t.Context(), 2, "bob")
				require.NoError(t, err)
				send(fork, "call", "")
				compact(1, 6)
				send(conv, "call", "")
				require.NoError(t, conv.Rewind(t.Context(), 3))
				send(conv, "hi", "guest")
				compact(-1, 7)
				send(conv, "call", "")
				require.NoError(t, rt.Close(t.Context()))

				assert.Empty(t, server.Rejections())
				assert.Equal(t, 14, server.Requests())
			})
		})
	}
}
