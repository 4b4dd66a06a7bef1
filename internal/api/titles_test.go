package api_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// findsCounted counts what is read one conversation at a time.
type findsCounted struct {
	*mem.Store
	finds atomic.Int64
}

func (s *findsCounted) Find(ctx context.Context, id string) (store.Record, error) {
	s.finds.Add(1)
	return s.Store.Find(ctx, id)
}

// TestAListFindsItsTitlesAtOnce: it does not look for each conversation by itself, unless the store can do nothing else.
func TestAListFindsItsTitlesAtOnce(t *testing.T) {
	t.Parallel()
	counted := &findsCounted{Store: mem.New(nil)}
	want := map[string]string{"ann": "hello from ann", "ben": "hello from ben", "zoe": ""}
	for sender, text := range want {
		rec, err := counted.Conversation(t.Context(), store.Key{Agent: "helper", Sender: sender})
		require.NoError(t, err)
		if text != "" {
			_, err = counted.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText(text)), TurnEnds: true})
			require.NoError(t, err)
		}
	}
	for name, tt := range map[string]struct {
		store store.Store
		finds int64
	}{
		"many titles at once": {counted, 0},
		"one after the other": {struct{ store.Store }{counted}, 3},
	} {
		w := newWorld(t, &worldOptions{store: tt.store})
		counted.finds.Store(0)
		listed, err := w.client.Conversations(t.Context())
		require.NoError(t, err)
		got := map[string]string{}
		for _, c := range listed {
			got[c.Sender] = c.Title
		}
		assert.Equal(t, want, got, name)
		assert.Equal(t, tt.finds, counted.finds.Load(), name)
	}
}
