package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/databases"
)

// database is a file or a PostgreSQL database.
type database struct {
	// open opens it as one more process.
	open func(t *testing.T, o *Options) *Memory
	// texts is all that is in it.
	texts func(t *testing.T) string
}

func inEach(t *testing.T, test func(t *testing.T, db database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, aFile(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, aDatabase(t))
	})
}

func aFile(t *testing.T) database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "memory.db")
	return database{
		open: func(t *testing.T, o *Options) *Memory {
			t.Helper()
			m, err := Open(t.Context(), path, o)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, m.OnClose(t.Context())) })
			return m
		},
		texts: func(t *testing.T) (all string) {
			t.Helper()
			files, err := filepath.Glob(path + "*")
			require.NoError(t, err)
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				all += string(data)
			}
			return all
		},
	}
}

func aDatabase(t *testing.T) database {
	t.Helper()
	dsn := databases.DSN(t)
	return database{
		open: func(t *testing.T, o *Options) *Memory {
			t.Helper()
			return OpenIn(databases.Open(t, dsn).SQL(), o)
		},
		texts: func(t *testing.T) string { t.Helper(); return databases.Texts(t, dsn) },
	}
}

// TestBothIndexesFindTheSame plays all questions that there are, with their ranks.
func TestBothIndexesFindTheSame(t *testing.T) {
	t.Parallel()
	independent, err := os.ReadFile("testdata/independent.json")
	require.NoError(t, err)
	for name, set := range map[string][]byte{"bundled": bundledSet, "independent": independent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := message.DecodeStrict[evaluationSet](message.JSON(set))
			require.NoError(t, err)
			o := &Options{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
			file, db := aFile(t).open(t, o), aDatabase(t).open(t, o)
			want, err := file.evaluate(t.Context(), data)
			require.NoError(t, err)
			got, err := db.evaluate(t.Context(), data)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Positive(t, got.Scoped.Hit)

			// Not only the answers: each memory that is found, in its place, with its score.
			s := file.fill(Section{Recall: RecallFull}, "eval")
			for _, c := range data.Conversations {
				for _, turn := range c.Turns {
					for _, query := range []string{turn.User, prefixes(turn.User)} {
						assert.Equal(t, places(t, file, s, query), places(t, db, s, query), query)
					}
				}
			}
		})
	}
}

func places(t *testing.T, m *Memory, s *settings, query string) (out []string) {
	t.Helper()
	found, err := m.table.find(t.Context(), s.homes, search{query: query, limit: 50})
	require.NoError(t, err)
	for _, h := range found {
		out = append(out, fmt.Sprintf("%s %.6f", h.name, h.score))
	}
	return out
}

// TestProcessesMergeWhatTheyWriteAtTheSameTime: each looks for a memory that says the same, and
// none is there yet.
func TestProcessesMergeWhatTheyWriteAtTheSameTime(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, db database) {
		processes := []*Memory{db.open(t, nil), db.open(t, nil), db.open(t, nil)}
		h := home{"", "agent:a"}
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				e := entry{name: fmt.Sprintf("fee %d", i), content: "The harbour fee is paid in cash at the kiosk.", kind: KindFact, label: label{OriginModel, message.TrustWorkspace}}
				_, err := processes[i%len(processes)].table.put(t.Context(), h, e, func(version) bool { return true })
				assert.NoError(t, err)
			})
		}
		all.Wait()
		kept, err := processes[0].List(t.Context())
		require.NoError(t, err)
		require.Len(t, kept, 1)
		for i := range 12 {
			found, err := processes[0].table.find(t.Context(), []home{h}, search{query: fmt.Sprint(i), limit: 5})
			require.NoError(t, err)
			assert.Len(t, found, 1, "the name is an alias by now")
		}
	})
}

// TestATurnIsKeptOnceByManyProcesses: a job that two daemons run at the same time.
func TestATurnIsKeptOnceByManyProcesses(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, db database) {
		processes := []*Memory{db.open(t, nil), db.open(t, nil)}
		var mu sync.Mutex
		var all sync.WaitGroup
		sum := 0
		for i := range 8 {
			all.Go(func() {
				e := entry{name: fmt.Sprintf("note %d", i), content: fmt.Sprintf("Buoy %d is green.", i), kind: KindFact, label: label{OriginUser, message.TrustWorkspace}}
				taken, waiting, err := processes[i%2].table.keep(t.Context(), task{Key: "agent:a", Turn: "t1", Auto: true}, []entry{e})
				assert.NoError(t, err)
				mu.Lock()
				sum += taken + waiting
				mu.Unlock()
			})
		}
		all.Wait()
		assert.Equal(t, 1, sum)
	})
}

// TestUsesOfManyProcessesAreAllCounted: they touch the same memories in different orders.
func TestUsesOfManyProcessesAreAllCounted(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, db database) {
		processes := []*Memory{db.open(t, nil), db.open(t, nil)}
		var nums []int64
		for i := range 5 {
			_, err := processes[0].table.put(t.Context(), home{"", "agent:a"}, entry{name: fmt.Sprint(i), content: fmt.Sprintf("Buoy %d is green.", i)}, func(version) bool { return true })
			require.NoError(t, err)
			nums = append(nums, space{num: 1}.first()+int64(i)+1)
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				order := append(append([]int64{}, nums[i%5:]...), nums[:i%5]...)
				assert.NoError(t, processes[i%2].table.touch(t.Context(), order))
			})
		}
		all.Wait()
		kept, err := processes[0].List(t.Context())
		require.NoError(t, err)
		require.Len(t, kept, 5)
		for _, k := range kept {
			assert.EqualValues(t, 20, k.Uses, k.Name)
		}
	})
}

// TestWhatIsMaskedOrForgottenIsInNoTable, nor are its words in the index.
func TestWhatIsMaskedOrForgottenIsInNoTable(t *testing.T) {
	t.Parallel()
	db := aDatabase(t)
	m := db.open(t, &Options{Mask: strings.NewReplacer("goshawk", "[bird]").Replace})
	h := home{"", "agent:a"}
	_, err := m.table.put(t.Context(), h, entry{name: "the kestrel", content: "It nests with the harrier and the goshawk.", aliases: []string{"osprey", "goshawk"}}, func(version) bool { return true })
	require.NoError(t, err)
	assert.NotContains(t, db.texts(t), "goshawk")
	for _, word := range []string{"kestrel", "harrier", "osprey", "[bird]"} {
		assert.Contains(t, db.texts(t), word, "the test can see it")
	}
	gone, err := m.table.drop(t.Context(), h, "the kestrel")
	require.NoError(t, err)
	assert.True(t, gone)
	for _, word := range []string{"kestrel", "harrier", "osprey"} {
		assert.NotContains(t, db.texts(t), word)
	}
}

// TestTextsThatPostgreSQLCannotHave are kept without what it refuses.
func TestTextsThatPostgreSQLCannotHave(t *testing.T) {
	t.Parallel()
	m := aDatabase(t).open(t, nil)
	h := home{"", "agent:a"}
	_, err := m.table.put(t.Context(), h, entry{name: "nul\x00name", content: "a\x00b \xff c", aliases: []string{"\x00"}}, func(version) bool { return true })
	require.NoError(t, err)
	found, ok, err := m.table.get(t.Context(), []home{h}, "NUL\x00name")
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, "a\ufffdb \ufffd c", found.content)
	hits, err := m.table.find(t.Context(), []home{h}, search{query: "\x00 \xff a b c", limit: 5})
	require.NoError(t, err)
	assert.Len(t, hits, 1)
}
