package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// A search finds the same in both databases, in the same order: also behind compactions, forks and
// rewinds.
func TestSearchFindsWhatSQLiteFinds(t *testing.T) {
	t.Parallel()
	number := 0
	newID := func() string { number++; return fmt.Sprintf("c%04d", number) }
	pg := open(t, migrated.Database(t), &postgres.Options{NewID: newID})
	numberLite := 0
	lite, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), &sqlite.Options{NewID: func() string { numberLite++; return fmt.Sprintf("c%04d", numberLite) }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, lite.Close()) })
	for _, s := range []full{pg, lite} {
		fill(t, s, rand.New(rand.NewPCG(1, 2)))
	}
	found := 0
	queries := append([]string{"ship", "ship*", "harbour anchor", "Ärger", "arger", "café", "s*", "tool", "日本", "naïve ship*", "zzz", "a b c d e f"}, words...)
	for _, text := range queries {
		for _, q := range []store.Query{{Text: text, AllProjects: true, Limit: 20}, {Text: text, Project: "p", Limit: 20, Before: 1, After: 1}, {Text: text, AllProjects: true, Agent: "a", Sender: "s3", Except: "c0002"}} {
			got, err := pg.Search(t.Context(), q)
			require.NoError(t, err)
			want, err := lite.Search(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, places(want), places(got), "%q", text)
			found += len(got)
		}
	}
	assert.Greater(t, found, 100)
}

type full interface {
	store.Store
	store.Compacter
	store.Forker
	store.Searcher
}

var words = []string{"ship", "harbour", "anchor", "sail", "café", "Ärger", "naïve", "tool", "ships", "sea", "日本", "the", "of", "rope", "storm"}

// fill makes conversations of random words.
func fill(t *testing.T, s full, random *rand.Rand) {
	t.Helper()
	text := func() string {
		out := make([]string, 1+random.IntN(40))
		for i := range out {
			out[i] = words[random.IntN(1+random.IntN(len(words)))]
		}
		return strings.Join(out, " ")
	}
	for i := range 30 {
		key := store.Key{Project: "p", Agent: "a", Sender: fmt.Sprint("s", i)}
		if i%5 == 0 {
			key.Project = "q"
		}
		rec, err := s.Conversation(t.Context(), key)
		require.NoError(t, err)
		version := int64(0)
		for range 1 + random.IntN(6) {
			answer := message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(text()), message.Block{Kind: message.BlockToolCall, Tool: "tool"})}
			version, err = s.Append(t.Context(), rec.ID, store.Append{Version: version, Messages: message.MessagesOf(message.UserText(text()), answer), TurnEnds: true})
			require.NoError(t, err)
		}
		if i%4 == 0 {
			version, err = s.Compact(t.Context(), rec.ID, store.At{Version: version}, 2, message.UserText(text()))
			require.NoError(t, err)
		}
		if i%6 == 0 {
			_, err = s.Fork(t.Context(), rec.ID, 1, store.Key{Project: key.Project, Agent: "fork", Sender: key.Sender})
			if i%4 != 0 {
				require.NoError(t, err)
			}
		}
		if i%7 == 1 {
			_, err = s.Rewind(t.Context(), rec.ID, store.At{Version: version}, 1)
			require.NoError(t, err)
		}
	}
}

// places returns what was found, without what two databases cannot have in common: times.
func places(ms []store.Match) (out []string) {
	for _, m := range ms {
		out = append(out, fmt.Sprint(m.Record.ID, m.Message, m.Archived, m.Summary, m.Role, m.Snippet, m.Around))
	}
	return out
}

// A message with more words than a tsvector holds is stored, and found by its first ones.
func TestAHugeMessageIsStored(t *testing.T) {
	t.Parallel()
	s := open(t, migrated.Database(t), nil)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	var text strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&text, "word%d ", i)
	}
	text.WriteString(strings.Repeat("same ", 100_000) + strings.Repeat("x", 100_000))
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText(text.String()))})
	require.NoError(t, err)
	found, err := s.Search(t.Context(), store.Query{Text: "word77"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
}
