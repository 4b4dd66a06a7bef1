package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
	"github.com/grapnel-go/grapnel/runtime/store/storetest"
)

func TestTheIndexOnDiskHasNoSecrets(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	storetest.KeepsSecrets(t, s)
	terms := indexTerms(t, path)
	assert.Contains(t, terms, "visible")
	assert.Contains(t, terms, "tool")
	assert.False(t, slices.ContainsFunc(terms, isSecret), "%q", terms)
	for _, table := range column(t, path, current(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'word\_%' ESCAPE '\'`) {
		for _, row := range column(t, path, current(), `SELECT CAST(`+shadowColumn(table)+` AS TEXT) FROM `+table) {
			assert.False(t, isSecret(row), "%s has %q", table, row)
		}
	}
}

// shadowColumn is the column of an FTS5 table that holds something of the texts.
func shadowColumn(table string) string {
	switch table {
	case "word_data":
		return "block"
	case "word_idx":
		return "term"
	case "word_docsize":
		return "sz"
	}
	return "v" // word_config
}

func TestWhatWasRewoundIsOutOfTheIndex(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("canary visible"))})
	require.NoError(t, err)
	ms, err := s.Search(t.Context(), store.Query{Text: "canary"})
	require.NoError(t, err)
	require.Len(t, ms, 1)
	_, err = s.Rewind(t.Context(), rec.ID, store.At{Version: 1}, 0)
	require.NoError(t, err)
	ms, err = s.Search(t.Context(), store.Query{Text: "canary visible"})
	require.NoError(t, err)
	assert.Empty(t, ms)
	assert.Equal(t, []string{"0"}, column(t, path, current(), `SELECT count(*) FROM word_docsize`))
	assert.Equal(t, []string{"1"}, column(t, path, current(), `SELECT count(*) FROM archive WHERE branch = 1`), "nothing is deleted")
}

func TestDiacriticsMakeNoDifference(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("the café"))})
	require.NoError(t, err)
	ms, err := s.Search(t.Context(), store.Query{Text: "CAFE"})
	require.NoError(t, err)
	require.Len(t, ms, 1)
	assert.Equal(t, "the café", ms[0].Snippet)
}

// A long index is built in several transactions, by several searches at once and
// while others write: everything is in it once.
func TestManySearchesMakeOneIndex(t *testing.T) {
	t.Parallel()
	path := file(t)
	a, b := open(t, path), open(t, path)
	const conversations, rounds, each = 4, 10, 40
	var wg sync.WaitGroup
	for c := range conversations {
		wg.Go(func() {
			rec, err := a.Conversation(t.Context(), store.Key{Agent: "a", Sender: fmt.Sprint(c)})
			assert.NoError(t, err)
			for i := range rounds {
				var ms []message.Message
				for j := range each {
					ms = append(ms, message.UserText(fmt.Sprintf("boat c%d i%d j%d", c, i, j)))
				}
				v, err := a.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Messages: message.MessagesOf(ms...), TurnEnds: true})
				assert.NoError(t, err)
				rec.Version = v
				if i == rounds/2 {
					rec.Version, err = a.Rewind(t.Context(), rec.ID, store.At{Version: v}, i)
					assert.NoError(t, err)
				}
				if i == rounds-2 {
					rec.Version, err = a.Compact(t.Context(), rec.ID, store.At{Version: rec.Version}, each, message.UserText("summary"))
					assert.NoError(t, err)
				}
			}
		})
	}
	for range rounds {
		for _, s := range []*sqlite.Store{a, b} {
			wg.Go(func() {
				_, err := s.Search(t.Context(), store.Query{Text: "boat"})
				assert.NoError(t, err)
			})
		}
	}
	wg.Wait()
	_, err := b.Search(t.Context(), store.Query{Text: "boat"})
	require.NoError(t, err)
	want := fmt.Sprint(conversations * ((rounds-1)*each + 1)) // and a summary
	assert.Equal(t, []string{want}, column(t, path, current(), `SELECT count(*) FROM word_docsize`))
	for c := range conversations {
		ms, err := a.Search(t.Context(), store.Query{Text: "i3", Sender: fmt.Sprint(c), Limit: 20})
		require.NoError(t, err)
		assert.Len(t, ms, 20)
		ms, err = a.Search(t.Context(), store.Query{Text: fmt.Sprintf("i%d", rounds/2), Sender: fmt.Sprint(c)})
		require.NoError(t, err)
		assert.Empty(t, ms, "it was rewound")
	}
	assert.Equal(t, []string{"0"}, column(t, path, current(), `SELECT count(*) FROM conversation WHERE indexed < messages`))
}

// TestAnIndexOfAnEarlierProgramIsMadeAnew: such an index knows no titles and no summaries.
func TestAnIndexOfAnEarlierProgramIsMadeAnew(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	v, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("a boat"), message.UserText("a sail")), TurnEnds: true})
	require.NoError(t, err)
	_, err = s.Compact(t.Context(), rec.ID, store.At{Version: v}, 1, message.UserText("about harbours"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	change(t, path, current(), `DROP TABLE word`)
	change(t, path, current(), `CREATE VIRTUAL TABLE word USING fts5 (user, tools, assistant, content = '', contentless_delete = 1)`)
	change(t, path, current(), `UPDATE conversation SET indexed = messages`)

	for _, notes := range [][]string{{"conversation store " + path + ": an earlier program has made the search index; the next search makes a new one"}, nil} {
		var told []string
		s, err = sqlite.Open(t.Context(), path, &sqlite.Options{Note: func(text string) { told = append(told, text) }})
		require.NoError(t, err)
		assert.Equal(t, notes, told)
		for _, text := range []string{"boat", "sail", "harbours"} {
			ms, err := s.Search(t.Context(), store.Query{Text: text})
			require.NoError(t, err)
			require.Len(t, ms, 1, text)
			assert.Equal(t, text == "harbours", ms[0].Summary)
		}
		require.NoError(t, s.Close())
	}
}

func BenchmarkSearch(b *testing.B) {
	s := tenThousand(b)
	_, err := s.Search(b.Context(), store.Query{Text: "index"})
	require.NoError(b, err)
	for _, text := range []string{"needle", "harbour boat sail", "w1*"} {
		b.Run(strings.ReplaceAll(text, " ", "+"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ms, err := s.Search(b.Context(), store.Query{Text: text, Limit: 20, Before: 4, After: 4})
				if err != nil || len(ms) == 0 {
					b.Fatal(len(ms), err)
				}
			}
		})
	}
}

// BenchmarkFirstSearch is the search that indexes ten thousand messages.
func BenchmarkFirstSearch(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := tenThousand(b)
		b.StartTimer()
		if _, err := s.Search(b.Context(), store.Query{Text: "needle"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad is reading a conversation of ten thousand messages.
func BenchmarkLoad(b *testing.B) {
	s := tenThousand(b)
	rec, err := s.Conversation(b.Context(), store.Key{Agent: "a"})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		ms, err := s.Messages(b.Context(), rec.ID)
		if err != nil || len(ms) != 10000 {
			b.Fatal(len(ms), err)
		}
	}
}

// tenThousand is a store with ten thousand messages in one conversation.
func tenThousand(b *testing.B) *sqlite.Store {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	s, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "x.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, s.Close()) })
	rec, err := s.Conversation(ctx, store.Key{Agent: "a"})
	require.NoError(b, err)
	for v := range int64(100) {
		var ms []message.Message
		for i := range 50 {
			n := int(v)*50 + i
			ms = append(ms, message.UserText(fmt.Sprintf("Where is boat w%d, and what about harbour number %d?", n%1000, n%7)),
				message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(strings.Repeat("It lies there, and its sail is furled. ", 5)))})
		}
		if v == 50 {
			ms[0] = message.UserText("a needle in it")
		}
		_, err := s.Append(ctx, rec.ID, store.Append{Version: v, Messages: message.MessagesOf(ms...), TurnEnds: true})
		require.NoError(b, err)
	}
	return s
}

func TestASearchEndsInAFileThatAlwaysHasSomethingNew(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("boat")), TurnEnds: true})
	require.NoError(t, err)
	change(t, path, current(), `CREATE TRIGGER damaged BEFORE UPDATE OF indexed ON conversation BEGIN SELECT RAISE(IGNORE); END`)
	_, err = s.Search(t.Context(), store.Query{Text: "boat"})
	require.ErrorContains(t, err, "does not decrease: the file is damaged")
}
