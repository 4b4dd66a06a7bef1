package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// indexed makes a file of 600 messages that are indexed, and closes it.
func indexed(t *testing.T) (path string, rec store.Record) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "conversations.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	rec, err = s.Conversation(t.Context(), store.Key{Agent: "a", Sender: "s"})
	require.NoError(t, err)
	for v := range int64(6) {
		var ms []message.Message
		for i := range 100 {
			ms = append(ms, message.UserText(fmt.Sprintf("anchor v%d i%d w%d x%d", v, i, v*1000+int64(i), i*7919)))
		}
		_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true, Messages: message.MessagesOf(ms...)})
		require.NoError(t, err)
	}
	_, err = s.Search(t.Context(), store.Query{Text: "anchor"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return path, rec
}

// pagesOf returns the pages of the tables and indexes whose names are LIKE the pattern,
// and their size.
func pagesOf(t *testing.T, path, pattern string) (pages []int64, size int64) {
	t.Helper()
	db := raw(t, path, current()...)
	rows, err := db.Read().QueryContext(t.Context(), `SELECT pageno FROM dbstat WHERE name LIKE ? ORDER BY pageno`, pattern)
	require.NoError(t, err)
	for rows.Next() {
		var n int64
		require.NoError(t, rows.Scan(&n))
		pages = append(pages, n)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	require.NoError(t, db.Read().QueryRow(`PRAGMA page_size`).Scan(&size))
	require.NoError(t, db.Close())
	require.NotEmpty(t, pages)
	return pages, size
}

// overwrite puts filling in the place of pages.
func overwrite(t *testing.T, path string, pages []int64, size int64, filling byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	text := make([]byte, size)
	for i := range text {
		text[i] = filling
	}
	for _, p := range pages {
		_, err := f.WriteAt(text, (p-1)*size)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
}

func statement(sql string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) { t.Helper(); change(t, path, current(), sql) }
}

func pages(filling byte, which func(pages []int64) []int64) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		all, size := pagesOf(t, path, "word%")
		overwrite(t, path, which(all), size, filling)
	}
}

func everyPage(pages []int64) []int64 { return pages }
func lastPage(pages []int64) []int64  { return pages[len(pages)-1:] }

// damages are what can become of an index while everything else is whole.
func damages() map[string]func(t *testing.T, path string) {
	return map[string]func(t *testing.T, path string){
		"all pages zero":       pages(0, everyPage),
		"all pages garbage":    pages(0xa5, everyPage),
		"one page zero":        pages(0, lastPage),
		"one page garbage":     pages(0xa5, lastPage),
		"no table":             statement(`DROP TABLE word`),
		"another table":        statement(`DROP TABLE word; CREATE TABLE word (user, tools, assistant)`),
		"no word_data":         statement(`DROP TABLE word_data`),
		"no word_idx":          statement(`DROP TABLE word_idx`),
		"no word_docsize":      statement(`DROP TABLE word_docsize`),
		"no word_config":       statement(`DROP TABLE word_config`),
		"an empty word_data":   statement(`DELETE FROM word_data`),
		"half of word_data":    statement(`DELETE FROM word_data WHERE id > 100`),
		"an empty word_idx":    statement(`DELETE FROM word_idx`),
		"an empty docsize":     statement(`DELETE FROM word_docsize`),
		"an empty word_config": statement(`DELETE FROM word_config`),
		"garbage in the rows":  garbled(1),
		"other garbage":        garbled(2),
		"still other garbage":  garbled(3), // which asks for more memory than there is
	}
}

// garbled puts garbage of a seed into the rows of the index.
func garbled(seed uint64) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		random := rand.New(rand.NewPCG(seed, 1))
		for _, id := range column(t, path, current(), `SELECT id || ' ' || length(block) FROM word_data`) {
			id, length, _ := strings.Cut(id, " ")
			n, err := strconv.Atoi(length)
			require.NoError(t, err)
			block := make([]byte, n)
			for i := range block {
				block[i] = byte(random.Uint32())
			}
			change(t, path, current(), fmt.Sprintf(`UPDATE word_data SET block = x'%x' WHERE id = %s`, block, id))
		}
	}
}

// TestADamagedIndexIsMadeAnew from the messages, and the person is told.
func TestADamagedIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, rec := indexed(t)
			damage(t, path)
			var notes []string
			s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Note: func(text string) { notes = append(notes, text) }})
			require.NoError(t, err)
			rec.Version, err = s.Append(t.Context(), rec.ID, store.Append{Version: 6, TurnEnds: true, Messages: message.MessagesOf(message.UserText("anchor new"))})
			require.NoError(t, err)
			for word, want := range map[string]int{"w5": 1, "w2042": 1, "new": 1, "v3": 100, "anchor": 601} {
				assert.Equal(t, want, hits(t, path, s, word), word)
			}
			require.Len(t, notes, 1)
			assert.Contains(t, notes[0], "conversation store "+path+": the search index was damaged (")
			assert.Contains(t, notes[0], ") and has been made anew; a check of the rest of the file found no damage")
			_, err = s.Rewind(t.Context(), rec.ID, store.At{Version: rec.Version}, 5)
			require.NoError(t, err)
			assert.Zero(t, hits(t, path, s, "new"))
			require.NoError(t, s.Close())
			assert.Equal(t, []string{"ok"}, column(t, path, current(), `PRAGMA integrity_check`))
			again := openWith(t, path, &sqlite.Options{Note: func(text string) { t.Error("a second start tells of " + text) }})
			assert.Equal(t, 500, hits(t, path, again, "anchor"))
		})
	}
}

// hits searches, and returns how many messages the index has for the word.
func hits(t *testing.T, path string, s *sqlite.Store, word string) int {
	t.Helper()
	_, err := s.Search(t.Context(), store.Query{Text: word})
	require.NoError(t, err)
	return len(column(t, path, current(), `SELECT rowid FROM word WHERE word MATCH '`+word+`'`))
}

// TestARewindMakesADamagedIndexAnew: it is the other write that needs the index.
func TestARewindMakesADamagedIndexAnew(t *testing.T) {
	t.Parallel()
	path, rec := indexed(t)
	s := open(t, path)
	statement(`DELETE FROM word_data`)(t, path)
	_, err := s.Rewind(t.Context(), rec.ID, store.At{Version: 6}, 5)
	require.NoError(t, err)
	assert.Equal(t, 500, hits(t, path, s, "anchor"))
}

// TestTheIndexThatIsMadeAnewIsTheSame as that of a new file.
func TestTheIndexThatIsMadeAnewIsTheSame(t *testing.T) {
	t.Parallel()
	const about = `SELECT sql FROM sqlite_schema WHERE tbl_name LIKE 'word%' UNION ALL SELECT k || '=' || v FROM word_config`
	path, _ := indexed(t)
	want := column(t, path, current(), about)
	statement(`DROP TABLE word`)(t, path)
	require.NoError(t, open(t, path).Close())
	assert.Equal(t, want, column(t, path, current(), about))
}

// TestTwoProgramsMakeADamagedIndexAnew, while turns go on in both.
func TestTwoProgramsMakeADamagedIndexAnew(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{`DROP TABLE word_config`, `DELETE FROM word_data`, `DROP TABLE word_docsize`, `DROP TABLE word`} {
		path, rec := indexed(t)
		programs := []*sqlite.Store{open(t, path), open(t, path)}
		statement(damage)(t, path)
		var wg sync.WaitGroup
		for i, s := range programs {
			wg.Go(func() {
				for range 5 {
					_, err := s.Search(t.Context(), store.Query{Text: "anchor"})
					assert.NoError(t, err, damage)
				}
			})
			wg.Go(func() {
				for n := range 5 {
					other, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: fmt.Sprint("s", i, n)})
					assert.NoError(t, err)
					_, err = s.Append(t.Context(), other.ID, store.Append{TurnEnds: true, Messages: message.MessagesOf(message.UserText("anchor"))})
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		for _, s := range programs {
			assert.Equal(t, 610, hits(t, path, s, "anchor"), damage)
			messages, err := s.Messages(t.Context(), rec.ID)
			require.NoError(t, err)
			assert.Len(t, messages, 600)
		}
		assert.Equal(t, []string{"ok"}, column(t, path, current(), `PRAGMA integrity_check`), damage)
	}
}
