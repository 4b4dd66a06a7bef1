package sqlite_test

import (
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

var spoiled = flag.Int("damaged.n", 60, "how many files TestDamageIsNeverSilent damages")

// original is a file with what is in it.
type original struct {
	// parts are the bytes of the file, and of those beside it, by suffix.
	parts map[string][]byte
	// said are the texts of each sender.
	said map[string][]string
	// index are the pages of the index of words, listed those that the list of conversations
	// is read from; both from 1.
	index, listed []int64
}

// newOriginal makes one that was closed, or one whose process was killed.
func newOriginal(t *testing.T, closed bool) original {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conversations.db")
	s := open(t, path)
	o := original{parts: map[string][]byte{}, said: map[string][]string{}}
	for c := range 12 {
		sender := fmt.Sprint("s", c)
		rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: sender})
		require.NoError(t, err)
		for v := range int64(8) {
			text := fmt.Sprintf("anchor %s v%d %s", sender, v, strings.Repeat("x", 1+int(v)*900))
			o.said[sender] = append(o.said[sender], text)
			_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true, Messages: message.MessagesOf(message.UserText(text)),
				Events: []store.Event{{Seq: uint64(v + 1), Data: `{}`}}})
			require.NoError(t, err)
		}
		if c == 8 {
			_, err = s.Search(t.Context(), store.Query{Text: "anchor"})
			require.NoError(t, err)
			require.NoError(t, s.Close())
			s = open(t, path) // the log will have what comes now
		}
	}
	o.index, _ = pagesOf(t, path, "word%")
	for _, pattern := range []string{"sqlite_schema", "conversation", "sqlite_autoindex_conversation%"} {
		pages, _ := pagesOf(t, path, pattern)
		o.listed = append(o.listed, pages...)
	}
	if closed {
		require.NoError(t, s.Close())
	}
	for _, suffix := range []string{"", "-wal", "-held"} {
		if data, err := os.ReadFile(path + suffix); err == nil {
			o.parts[suffix] = data
		}
	}
	return o
}

const pageSize = 4096

// spoil writes a copy of the file to dir, damaged in one way, which it names. Listed tells
// whether the list of conversations is whole.
func (o original) spoil(t *testing.T, dir string, random *rand.Rand) (path, how string, listed bool) {
	t.Helper()
	path = filepath.Join(dir, "conversations.db")
	parts := map[string][]byte{}
	for suffix, data := range o.parts {
		parts[suffix] = slices.Clone(data)
	}
	main := parts[""]
	pages := int64(len(main) / pageSize)
	fill := func(page int64) {
		listed = listed && !slices.Contains(o.listed, page)
		filling := []byte{0, 0xa5, 0xff}[random.IntN(3)]
		how += fmt.Sprintf("page %d full of %#x ", page, filling)
		for i := range int64(pageSize) {
			main[(page-1)*pageSize+i] = filling
		}
	}
	switch random.IntN(7) {
	case 0:
		how, parts[""] = "emptied", nil
	case 1:
		n := random.IntN(len(main))
		how, parts[""] = fmt.Sprintf("cut off at %d", n), main[:n]
	case 2:
		how = "without the database"
		delete(parts, "")
		parts["-wal"] = append(parts["-wal"], main...) // a log there is
	case 3: // of the index too
		listed = true
		fill(min(o.index[random.IntN(len(o.index))], pages)) // those behind the end are in the log
		fill(2 + random.Int64N(pages-1))
	default:
		listed = true
		for range 1 + random.IntN(3) {
			fill(1 + random.Int64N(pages))
		}
	}
	for suffix, data := range parts {
		require.NoError(t, os.WriteFile(path+suffix, data, 0o600))
	}
	return path, how, listed
}

// openSure is a program that says unlooked that nothing else is damaged.
func openSure(t *testing.T, path string, note func(string)) (*sqlite.Store, error) {
	return openSpoiled(t, path, func(string) { note("found no damage") })
}

// openHasty is a program whose look at a file changes it: it copies the log into it.
func openHasty(t *testing.T, path string, note func(string)) (*sqlite.Store, error) {
	if db, err := sql.Open("sqlite", path); err == nil {
		_ = db.PingContext(t.Context())
		_, _ = db.ExecContext(t.Context(), "SELECT count(*) FROM sqlite_schema")
		_ = db.Close()
	}
	return openSpoiled(t, path, note)
}

// opener opens a store, and tells what it has put right.
type opener func(t *testing.T, path string, note func(string)) (*sqlite.Store, error)

func openSpoiled(t *testing.T, path string, note func(string)) (*sqlite.Store, error) {
	return sqlite.Open(t.Context(), path, &sqlite.Options{Note: note})
}

// openAnew is a program that begins anew where it cannot go on.
func openAnew(t *testing.T, path string, note func(string)) (*sqlite.Store, error) {
	s, err := openSpoiled(t, path, note)
	if err == nil {
		return s, nil
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-held"} {
		_ = os.Remove(path + suffix)
	}
	return openSpoiled(t, path, nil)
}

// files returns what is in the files of a directory but in the memory that their users share.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-shm") {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			out[e.Name()] = string(data)
		}
	}
	return out
}

// silent opens a damaged file and returns what is missing that nothing has told of, or
// what was told and is wrong; "" if there is nothing. refused and healed say what became
// of the file. A list that is whole is missing if it comes as an error.
func (o original) silent(t *testing.T, path string, listed bool, open opener) (missing string, refused, healed bool) {
	t.Helper()
	before, sure := files(t, filepath.Dir(path)), false
	s, err := open(t, path, func(text string) {
		healed, sure = true, strings.Contains(text, "found no damage")
	})
	if err != nil {
		assert.ErrorContains(t, err, path)
		assert.ErrorContains(t, err, "to begin anew, move all files")
		if strings.Contains(err.Error(), "nothing was changed") && !maps.Equal(before, files(t, filepath.Dir(path))) {
			return "that nothing was changed, which was told", true, healed
		}
		return "", true, healed
	}
	defer func() { _ = s.Close() }() // a file that is damaged
	if sure && !sound(t, path) {
		return "that nothing else is damaged, which was told", false, healed
	}
	return o.lacks(t, s, listed), false, healed
}

// sound reports whether SQLite finds the file sound.
func sound(t *testing.T, path string) bool {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { _ = db.Close() }() // a file that is damaged
	var found string
	err = db.QueryRowContext(t.Context(), "PRAGMA quick_check").Scan(&found)
	return err == nil && found == "ok"
}

// lacks returns what is missing in an open store that nothing has told of.
func (o original) lacks(t *testing.T, s *sqlite.Store, listed bool) string {
	t.Helper()
	recs, err := s.List(t.Context())
	if err != nil && listed {
		return fmt.Sprintf("the list: %v", err)
	}
	if err == nil && len(recs) < len(o.said) {
		return fmt.Sprintf("%d of %d conversations", len(o.said)-len(recs), len(o.said))
	}
	told := err != nil
	for _, rec := range recs {
		ms, err := s.Messages(t.Context(), rec.ID)
		told = told || err != nil
		var got []string
		for _, m := range ms {
			got = append(got, m.Content.At(0).Text)
		}
		if err == nil && !slices.Equal(got, o.said[rec.Key.Sender]) {
			return "messages of " + rec.Key.Sender
		}
	}
	for sender := range o.said {
		found, err := s.Search(t.Context(), store.Query{Text: "anchor", Sender: sender, Limit: 20})
		if err == nil && !told && len(found) != len(o.said[sender]) {
			return fmt.Sprintf("%d messages of %s cannot be found", len(o.said[sender])-len(found), sender)
		}
	}
	return ""
}

// afterDamage damages n files and returns how many lost something silently.
func afterDamage(t *testing.T, n int, seed uint64, open opener) (silent, refused, healed int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	originals := []original{newOriginal(t, true), newOriginal(t, false)}
	for i := range n {
		dir := t.TempDir()
		o := originals[i%len(originals)]
		path, how, listed := o.spoil(t, dir, random)
		missing, no, better := o.silent(t, path, listed, open)
		if missing != "" {
			silent++
			t.Logf("file %d, %s: %s", i, how, missing)
		}
		if no {
			refused++
		}
		if better {
			healed++
		}
		require.NoError(t, os.RemoveAll(dir))
	}
	return silent, refused, healed
}

// TestDamageIsNeverSilent: a file is refused, mended, or what is missing comes as an error.
func TestDamageIsNeverSilent(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	silent, refused, healed := afterDamage(t, *spoiled, seed, openSpoiled)
	t.Logf("FIGURE seed=%d", seed)
	t.Logf("FIGURE damaged=%d files", *spoiled)
	t.Logf("FIGURE refused=%d of them, with what to do", refused)
	t.Logf("FIGURE mended=%d of them: their index was made anew", healed)
	t.Logf("FIGURE silent=%d lost something without a word", silent)
	assert.Zero(t, silent)
}

func TestDamageFindsWhoBeginsAnew(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	catches := func(n int, open opener) (silent int) {
		for seed := uint64(1); silent == 0 && seed <= 20; seed++ { // the pages differ a little each time
			silent, _, _ = afterDamage(t, max(n, *spoiled/20), seed, open)
		}
		assert.Positive(t, silent)
		return silent
	}
	t.Logf("FIGURE bad.anew=%d files whose conversations were gone without a word", catches(10, openAnew))
	t.Logf("FIGURE bad.sure=%d files that were damaged, and were said not to be", catches(20, openSure))
	t.Logf("FIGURE bad.hasty=%d files that were changed, and were said not to be", catches(10, openHasty))
}
