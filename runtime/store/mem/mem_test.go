package mem_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook/message"
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

	at, ctx := store.At{}, t.Context()
	for name, call := range map[string]func() error{
		"Conversation": func() error { _, err := s.Conversation(ctx, store.Key{Agent: "a"}); return err },
		"Messages":     func() error { _, err := s.Messages(ctx, "c1"); return err },
		"Journal":      func() error { _, err := s.Journal(ctx, "c1"); return err },
		"List":         func() error { _, err := s.List(ctx); return err },
		"Claim":        func() error { _, err := s.Claim(ctx, "c1", store.Claim{Owner: "me", Hold: 1}); return err },
		"Append":       func() error { _, err := s.Append(ctx, "c1", store.Append{}); return err },
		"Note":         func() error { _, err := s.Note(ctx, "c1", store.Note{}); return err },
		"Compact":      func() error { _, err := s.Compact(ctx, "c1", at, 1, message.UserText("s")); return err },
		"Archive":      func() error { _, err := s.Archive(ctx, "c1"); return err },
		"Fork":         func() error { _, err := s.Fork(ctx, "c1", 0, store.Key{Agent: "b"}); return err },
		"Rewind":       func() error { _, err := s.Rewind(ctx, "c1", at, 0); return err },
		"Child":        func() error { _, err := s.Child(ctx, store.Key{Agent: "b"}, "c1"); return err },
		"Children":     func() error { _, err := s.Children(ctx, "c1"); return err },
		"Events":       func() error { _, err := s.Events(ctx, "c1", 0, 1); return err },
		"Search":       func() error { _, err := s.Search(ctx, store.Query{Text: "x"}); return err },
		"Dump":         func() error { _, err := s.Dump(ctx, "c1"); return err },
		"Restore":      func() error { _, err := s.Restore(ctx, store.Dump{}); return err },
	} {
		assert.ErrorIs(t, call(), store.ErrClosed, name)
	}
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
	var want []message.Message
	for i := range 100 {
		batch := make([]message.Message, i%7)
		for j := range batch {
			batch[j] = message.UserText(fmt.Sprint(i, j))
		}
		_, err := s.Append(t.Context(), rec.ID, store.Append{Version: int64(i), Messages: message.MessagesOf(batch...)})
		require.NoError(t, err)
		want = append(want, batch...)
	}
	got, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
