package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// longTalks makes a file of three conversations whose messages fill many pages, and
// closes it. The middle one has an archive.
func longTalks(t *testing.T) (path string, recs []store.Record) {
	t.Helper()
	path = file(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	for c := range 3 {
		rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: fmt.Sprint("s", c)})
		require.NoError(t, err)
		for v := range int64(12) {
			_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true, Messages: message.MessagesOf(
				message.UserText(fmt.Sprintf("s%d v%d %s", c, v, strings.Repeat("x", 900))))})
			require.NoError(t, err)
		}
		if c == 1 {
			_, err = s.Compact(t.Context(), rec.ID, store.At{Version: 12}, 6, message.UserText("summary"))
			require.NoError(t, err)
		}
	}
	recs, err = s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, recs, 3)
	require.NoError(t, s.Close())
	return path, recs
}

// TestADamagedPageOfMessagesTakesNoConversationAway: interrupted turns are looked for in
// the list, and people choose from it.
func TestADamagedPageOfMessagesTakesNoConversationAway(t *testing.T) {
	t.Parallel()
	path, want := longTalks(t)
	for _, table := range []string{"message", "archive"} {
		pages, size := pagesOf(t, path, table)
		overwrite(t, path, pages, size, 0)
		s := open(t, path)
		got, err := s.List(t.Context())
		require.NoError(t, err, table)
		assert.Equal(t, want, got)
		for i, rec := range want {
			found, err := s.Find(t.Context(), rec.ID)
			require.NoError(t, err)
			// The messages are damaged first, and the archive then.
			if table == "message" && i == 1 {
				assert.True(t, strings.HasPrefix(found.Title, "s1 v0 xxx"), found.Title)
			} else {
				assert.Empty(t, found.Title)
			}
			found.Title = ""
			assert.Equal(t, rec, found)
		}
		require.NoError(t, s.Close())
	}
}

func TestATitleIsThatOfTheWholeMessage(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	text := func(text string) message.Message { return message.UserText(text) }
	image := message.Block{Kind: message.BlockImage, MIME: "image/png", Data: strings.Repeat("iVBO", 20_000)}
	said := func(blocks ...message.Block) message.Message {
		return message.Message{Role: message.RoleUser, Content: message.ListOf(blocks...)}
	}
	all := map[string]message.Message{
		"short":                        text("hello"),
		"long":                         text("hello " + strings.Repeat("x", 1<<20)),
		"long of long letters":         text(strings.Repeat("😀", 1<<16)),
		"blanks first":                 text(strings.Repeat(" ", 1<<16) + "hello"),
		"escapes":                      text(strings.Repeat("\x01", 1<<16)),
		"no UTF-8":                     text(strings.Repeat("a\xff", 1<<16)),
		"an image first":               said(image, message.TextBlock("hello")),
		"an image between":             said(message.TextBlock("hello "), image, message.TextBlock("there")),
		"an image behind":              said(message.TextBlock(strings.Repeat("x", 3000)), image),
		"only an image":                said(image),
		"text that looks like the end": text(strings.Repeat(`"}]}`, 1<<14)),
	}
	for n := range 14 { // the beginning ends at each place of an escape sequence
		all[fmt.Sprint("escapes from ", n)] = text(strings.Repeat("x", n) + strings.Repeat("\\\"\n\x02", 1<<13))
	}
	for name, m := range all {
		rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: name})
		require.NoError(t, err)
		_, err = s.Append(t.Context(), rec.ID, store.Append{TurnEnds: true, Messages: message.MessagesOf(m)})
		require.NoError(t, err)
		found, err := s.Find(t.Context(), rec.ID)
		require.NoError(t, err)
		ms, err := s.Messages(t.Context(), rec.ID)
		require.NoError(t, err)
		assert.Equal(t, store.Title(ms[0]), found.Title, name)
		assert.Equal(t, strings.TrimSpace(m.Text()[:min(len(m.Text()), store.TitleText)]) != "", found.Title != "", name)
	}
}

// BenchmarkList lists 100 conversations that begin with 1 MiB, as the daemon does when it
// starts, and finds them too, as for a list that people see.
func BenchmarkList(b *testing.B) {
	s, err := sqlite.Open(b.Context(), b.TempDir()+"/x.db", nil)
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, s.Close()) })
	long := strings.Repeat("x", 1<<20)
	for c := range 100 {
		rec, err := s.Conversation(b.Context(), store.Key{Agent: "a", Sender: fmt.Sprint("s", c)})
		require.NoError(b, err)
		_, err = s.Append(b.Context(), rec.ID, store.Append{TurnEnds: true, Messages: message.MessagesOf(message.UserText(long))})
		require.NoError(b, err)
	}
	list := func(b *testing.B) []store.Record {
		recs, err := s.List(b.Context())
		require.NoError(b, err)
		return recs
	}
	b.Run("records", func(b *testing.B) {
		for b.Loop() {
			list(b)
		}
	})
	b.Run("titles", func(b *testing.B) {
		for b.Loop() {
			for _, rec := range list(b) {
				_, err := s.Find(b.Context(), rec.ID)
				require.NoError(b, err)
			}
		}
	})
}
