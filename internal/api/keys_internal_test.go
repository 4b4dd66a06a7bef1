package api

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// manyConversations is a store that has so many conversations.
type manyConversations struct {
	store.Store
	n int
}

func (m manyConversations) record(i int) store.Record {
	return store.Record{ID: fmt.Sprint("c", i), Key: store.Key{Agent: "a", Sender: fmt.Sprint(i)}}
}

func (m manyConversations) List(context.Context) ([]store.Record, error) {
	out := make([]store.Record, m.n)
	for i := range out {
		out[i] = m.record(i)
	}
	return out, nil
}

func (m manyConversations) Conversation(_ context.Context, key store.Key) (store.Record, error) {
	var i int
	_, err := fmt.Sscan(key.Sender, &i)
	return m.record(i), err
}

// TestKeysAreBounded: however many conversations are listed, a bounded number of keys
// is kept, and every conversation is found all the same.
func TestKeysAreBounded(t *testing.T) {
	t.Parallel()
	many := manyConversations{n: 3 * maxKeys}
	s := &Server{o: Options{Store: many}}
	for range 2 {
		_, err := s.list(t.Context())
		require.NoError(t, err)
		assert.Len(t, s.keys.byID, maxKeys)
		assert.Len(t, s.keys.order, maxKeys)
	}
	for _, i := range []int{0, maxKeys, many.n - 1, 0} {
		rec, err := s.find(t.Context(), many.record(i).ID)
		require.NoError(t, err)
		assert.Equal(t, many.record(i), rec)
	}
	assert.Len(t, s.keys.byID, maxKeys)
	_, err := s.find(t.Context(), "other")
	assert.Error(t, err)
}
