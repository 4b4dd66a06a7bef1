package rig

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Same is a provider with one reply to every request.
type Same struct{ Reply message.ModelStream }

func (s Same) Stream(context.Context, message.ModelRequest) message.ModelStream { return s.Reply }

// PerToken prices every token of a model at one billionth of a dollar, and of
// "dear" at a thousand.
func PerToken(model string, u message.Usage) hook.Cost {
	if model == "dear" {
		return hook.Cost(1000 * u.Total())
	}
	return hook.Cost(u.Total())
}

// Slowly answers each line with itself, and a request for a summary with a
// summary, both after the time that wait says.
func Slowly(wait func(compaction bool) time.Duration) provider.Func {
	return func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		last := req.Messages.At(req.Messages.Len() - 1)
		return func(yield func(message.Chunk, error) bool) {
			select {
			case <-time.After(wait(last.Label == message.LabelCompaction)):
			case <-ctx.Done():
				yield(message.Chunk{}, context.Cause(ctx))
				return
			}
			reply := Says("answer to " + last.Text())
			switch {
			case last.Label == message.LabelCompaction:
				reply = Says("The summary.")
			case last.Role == message.RoleTool:
				reply = Says("answer to " + last.CallID)
			case strings.HasPrefix(last.Text(), "call"):
				reply = Calls(Call("", "echo", `{"s":"x"}`))
			}
			reply(yield)
		}
	}
}

// Seconds is a model that takes one for an answer and ten for a summary.
func Seconds(compaction bool) time.Duration {
	if compaction {
		return 10 * time.Second
	}
	return time.Second
}

// StartSlowly is a world whose model answers slowly.
func StartSlowly(t *testing.T, wait func(bool) time.Duration, s store.Store) *World {
	w := &World{T: t, Store: s}
	w.Runtime = runtime.New(Box(Named("echo")), Slowly(wait), &runtime.Options{Store: s})
	require.NoError(t, w.Runtime.Open(t.Context()))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	w.Conv, err = dialog.Conversation(t.Context(), w.Runtime, "a", "ann")
	require.NoError(t, err)
	return w
}

// RandomTimes returns random times of up to five seconds.
func RandomTimes(seed uint64) func() time.Duration {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 1))
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(rnd.IntN(5_000)) * time.Millisecond
	}
}

// Shown returns what the model was shown in its n-th request, one line per message,
// ephemeral entries with their label.
func (m *Model) Shown(n int) []string {
	var out []string
	for _, msg := range m.Requests[n].Messages.All() {
		s := Line(msg)
		if msg.Ephemeral {
			s = msg.Label + "! " + s
		}
		out = append(out, s)
	}
	return out
}

// Fails is a stream that ends with an error behind the words.
func Fails(err error, words ...string) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, w := range words {
			if !yield(Text(w), nil) {
				return
			}
		}
		yield(message.Chunk{}, err)
	}
}

// Offered returns the names of the tools in the n-th request to the model.
func (m *Model) Offered(n int) []string {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	names := []string{}
	for _, t := range m.Requests[n].Tools.Tools().All() {
		names = append(names, t.Name)
	}
	return names
}
