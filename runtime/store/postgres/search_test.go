package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
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
	// A tenant finds what a database finds that has nothing else.
	numberAlone := 0
	alone, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), &sqlite.Options{NewID: func() string { numberAlone++; return fmt.Sprintf("c%04d", numberAlone) }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, alone.Close()) })
	fill(t, alone, rand.New(rand.NewPCG(1, 2)))
	all, err := alone.List(t.Context())
	require.NoError(t, err)
	for _, rec := range all {
		if rec.Key.Project != "p" {
			_, err = alone.Erase(t.Context(), rec.ID, nil)
			require.NoError(t, err)
		}
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
			got, err = pg.Tenant("p").Search(t.Context(), q)
			require.NoError(t, err)
			want, err = alone.Search(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, places(want), places(got), "%q", text)
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

// A search of a tenant reads each of its messages at most once for each of its statements, and none of what others have.
func TestASearchOfATenantReadsOnlyWhatIsTheTenants(t *testing.T) {
	t.Parallel()
	const searches, own = 8, 300 // PostgreSQL may make a general plan of a statement after five times
	dsn := (&pgtest.Template{Prepare: migrated.Prepare}).Database(t)
	execute(t, dsn, `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET enable_seqscan = off'; END $$`) // as large tables have it
	s, err := postgres.Open(t.Context(), dsn, nil)
	require.NoError(t, err)
	begins := func(project, sender, text string) {
		rec, err := s.Conversation(t.Context(), store.Key{Project: project, Agent: "a", Sender: sender})
		require.NoError(t, err)
		_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText(text))})
		require.NoError(t, err)
	}
	begins(alice, "ann", "the tide")
	for i := range own - 1 {
		begins(alice, fmt.Sprint(i), "the harbour")
	}
	begins(bob, "ben", "the tide")
	execute(t, dsn, `INSERT INTO word (conversation, seq, length, tsv)
		SELECT num, i, 2, ('the:1' || CASE WHEN i % 10 = 0 THEN ' tide:2' ELSE '' END)::tsvector || array_to_tsvector(ARRAY['/' || left(encode(sha256(project), 'hex'), 16)])
		FROM conversation, generate_series(1, 20000) i WHERE project LIKE 'bob:%'`)
	execute(t, dsn, `ANALYZE word`)
	execute(t, dsn, `ANALYZE conversation`)
	search := func(project string) {
		for range searches {
			found, err := s.Tenant(project).Search(t.Context(), store.Query{Text: "tide", Project: project, AllProjects: true})
			require.NoError(t, err)
			require.NotEmpty(t, found)
		}
	}
	search(alice)
	require.NoError(t, s.Close())
	const statements = 3
	assert.LessOrEqual(t, wordsRead(t, dsn), int64(searches*statements*own))

	s = open(t, dsn, nil)
	search(bob)
	require.NoError(t, s.Close())
	assert.Greater(t, wordsRead(t, dsn), int64(searches*2000), "the test sees what is read")
}

// The words of a conversation move with it to another project, and those from before the words of projects get them.
func TestTheWordsOfAConversationHaveItsProject(t *testing.T) {
	t.Parallel()
	dsn := (&pgtest.Template{Prepare: migrated.Prepare}).Database(t)
	s := open(t, dsn, nil)
	rec, err := s.Conversation(t.Context(), store.Key{Project: alice, Agent: "a"})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("the tide"), message.UserText("high tide"))})
	require.NoError(t, err)
	found := func(s *postgres.Store, project string) int {
		inTenant, err := s.Tenant(project).Search(t.Context(), store.Query{Text: "tide", Project: project, AllProjects: true})
		require.NoError(t, err)
		inProject, err := s.Search(t.Context(), store.Query{Text: "tide", Project: project})
		require.NoError(t, err)
		require.Len(t, inProject, len(inTenant))
		return len(inTenant)
	}
	assert.Equal(t, []int{2, 0}, []int{found(s, alice), found(s, bob)})
	rec, err = s.Adopt(t.Context(), rec.ID, store.Claim{Owner: "me", Hold: time.Hour}, store.Key{Project: bob, Agent: "a"})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 2}, []int{found(s, alice), found(s, bob)})
	_, err = s.Compact(t.Context(), rec.ID, store.At{Version: rec.Version, Epoch: rec.Lease.Epoch}, 1, message.UserText("summary of the tide"))
	require.NoError(t, err)
	assert.Equal(t, []int{0, 3}, []int{found(s, alice), found(s, bob)})

	execute(t, dsn, `UPDATE word SET tsv = ts_delete(tsv, ARRAY(SELECT w FROM unnest(tsvector_to_array(tsv)) w WHERE w LIKE '/%'))`)
	execute(t, dsn, `DELETE FROM grapnel_schema WHERE version >= 4`)
	assert.Equal(t, []int{0, 0}, []int{found(s, alice), found(s, bob)})
	upgraded := open(t, dsn, nil)
	assert.Equal(t, []int{0, 3}, []int{found(upgraded, alice), found(upgraded, bob)})
}

// wordsRead returns how many rows of the index of words were read, once all other sessions have told of theirs.
func wordsRead(t *testing.T, dsn string) (n int64) {
	t.Helper()
	scanned(t, dsn)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'word'`).Scan(&n))
	return n
}

// Searches that take long hold up no more than each other, and end.
func TestSlowSearchesHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	s := open(t, dsn, nil)
	holder, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer holder.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	_, err = holder.Exec(t.Context(), `BEGIN; LOCK TABLE word`)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	ctx, stop := context.WithCancel(t.Context())
	var searching sync.WaitGroup
	search := func(s *postgres.Store, times int) {
		for range times {
			searching.Go(func() {
				for ctx.Err() == nil {
					_, _ = s.Search(ctx, store.Query{Text: "tide", AllProjects: true})
				}
			})
		}
	}
	running := func(want int) {
		t.Helper()
		var got int
		require.Eventually(t, func() bool {
			err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&got)
			return assert.NoError(t, err) && got == want
		}, time.Minute, 5*time.Millisecond)
	}
	search(s.Tenant(alice), 20)
	running(1)
	search(s.Tenant(bob), 20)
	running(2)
	search(s, 20)
	running(3)
	time.Sleep(200 * time.Millisecond)
	running(3)
	_, err = s.Tenant(carol).Conversation(t.Context(), store.Key{Project: carol, Agent: "a"})
	require.NoError(t, err)
	stop()
	searching.Wait()

	_, err = s.Search(t.Context(), store.Query{Text: "tide", AllProjects: true})
	require.ErrorContains(t, err, "it takes longer than 5s: search for fewer or rarer words")
	_, err = holder.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)
	_, err = s.Search(t.Context(), store.Query{Text: "tide", AllProjects: true})
	require.NoError(t, err)
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
