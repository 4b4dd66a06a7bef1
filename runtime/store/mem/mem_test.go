package mem_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, journal := range map[string]bool{"volatile": false, "with journal": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(_ *testing.T, now func() time.Time) storetest.Subject {
				return storetest.Subject{Store: mem.New(&mem.Options{Now: now, Journal: journal})}
			})
		})
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	s := mem.New(nil)
	require.NoError(t, s.Close())

	_, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	assert.ErrorIs(t, err, store.ErrClosed)
	_, err = s.Messages(t.Context(), "c1")
	assert.ErrorIs(t, err, store.ErrClosed)
	_, err = s.Append(t.Context(), "c1", store.Append{})
	assert.ErrorIs(t, err, store.ErrClosed)
	_, err = s.List(t.Context())
	assert.ErrorIs(t, err, store.ErrClosed)
}

func TestTimesComeFromTheClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := mem.New(&mem.Options{Now: func() time.Time { return now }})
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	assert.Equal(t, now, rec.Created)
	now = now.Add(time.Minute)
	_, err = s.Append(t.Context(), rec.ID, store.Append{})
	require.NoError(t, err)
	again, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	assert.Equal(t, now, again.Updated)
	assert.Equal(t, rec.Created, again.Created)
}

func TestALongConversationComesBackWhole(t *testing.T) {
	s := mem.New(nil)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	var want []hook.Message
	for i := range 100 {
		batch := make([]hook.Message, i%7)
		for j := range batch {
			batch[j] = hook.UserText(fmt.Sprint(i, j))
		}
		_, err := s.Append(t.Context(), rec.ID, store.Append{Version: int64(i), Messages: batch})
		require.NoError(t, err)
		want = append(want, batch...)
	}
	got, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
