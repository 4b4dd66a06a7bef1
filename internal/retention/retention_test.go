package retention_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/lockedfile"
	"github.com/grapnel-go/grapnel/internal/retention"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

const victimDir = "GRAPNEL_TEST_RETENTION_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		dieInTheMiddle(dir)
	}
	os.Exit(m.Run())
}

var errBusy = errors.New("busy")

// world is a store with its keeper. Each place writes down what it was asked for.
type world struct {
	store interface {
		retention.Store
		store.Writer
	}
	notes []string
	seen  map[string]retention.Scope
	// fails is asked before each step with its name: "delete ID" or "place NAME".
	fails func(step string) error
}

func (w *world) step(name string) error {
	if w.fails == nil {
		return nil
	}
	return w.fails(name)
}

func (w *world) keeper(dir string, limits retention.Limits) *retention.Keeper {
	w.seen = map[string]retention.Scope{}
	place := func(name string) retention.Place {
		return retention.Place{Name: name, Erase: func(_ context.Context, s retention.Scope, dry bool) (retention.Part, error) {
			if !dry {
				if err := w.step("place " + name); err != nil {
					return retention.Part{}, err
				}
				w.seen[name] = s
			}
			return retention.Part{Deleted: int64(len(s.Conversations)), What: "things", Kept: "the rest of " + name}, nil
		}}
	}
	return retention.New(retention.Options{
		Store: w.store, Busy: errBusy, Journal: lockedfile.File[json.RawMessage]{Path: filepath.Join(dir, "deletions.json")}, Limits: limits,
		Delete: func(ctx context.Context, id string) (store.Erased, error) {
			if err := w.step("delete " + id); err != nil {
				return store.Erased{}, err
			}
			out, err := w.store.Erase(ctx, id, nil)
			if errors.Is(err, store.ErrLeased) {
				err = fmt.Errorf("%w: %w", errBusy, err)
			}
			return out, err
		},
		DeleteRest: func(ctx context.Context, project string) (store.Erased, error) {
			return w.store.EraseProject(ctx, project, nil)
		},
		Places: []retention.Place{place("one"), place("two")}, Note: func(text string) { w.notes = append(w.notes, text) },
	})
}

// talk makes a conversation with n bytes, and a child of it.
func (w *world) talk(t *testing.T, project, sender string, n int) store.Record {
	t.Helper()
	rec, err := w.store.Conversation(t.Context(), store.Key{Project: project, Agent: "a", Sender: sender})
	require.NoError(t, err)
	_, err = w.store.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText(strings.Repeat("x", n))), TurnEnds: true})
	require.NoError(t, err)
	_, err = w.store.Child(t.Context(), store.Key{Project: project, Agent: "b", Sender: "of " + rec.ID}, rec.ID)
	require.NoError(t, err)
	return rec
}

func (w *world) left(t *testing.T) (out []string) {
	t.Helper()
	all, err := w.store.List(t.Context())
	require.NoError(t, err)
	for _, rec := range all {
		out = append(out, rec.Key.Project+" "+rec.Key.Sender)
	}
	return out
}

func journal(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "deletions.json"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return strings.TrimSpace(string(data))
}

func three(t *testing.T) (*world, string, []store.Record) {
	w, dir := &world{store: mem.New(nil)}, t.TempDir()
	return w, dir, []store.Record{w.talk(t, "/p", "ann", 10), w.talk(t, "/p", "bob", 10), w.talk(t, "/q", "ann", 10)}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subject      func(recs []store.Record) retention.Subject
		left         []string
		ids, project int
	}{
		"a conversation": {func(r []store.Record) retention.Subject {
			return retention.Subject{Kind: retention.Conversation, Name: r[0].ID}
		},
			[]string{"/p bob", "/q ann"}, 2, 1},
		"a sender": {func([]store.Record) retention.Subject { return retention.Subject{Kind: retention.Sender, Name: "ann"} },
			[]string{"/p bob"}, 4, 2},
		"a project": {func([]store.Record) retention.Subject { return retention.Subject{Kind: retention.Project, Name: "/p"} },
			[]string{"/q ann"}, 4, 1},
		"nobody": {func([]store.Record) retention.Subject { return retention.Subject{Kind: retention.Sender, Name: "zoe"} },
			[]string{"/p ann", "/p bob", "/q ann"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir, recs := three(t)
			k := w.keeper(dir, retention.Limits{})
			before := w.left(t)
			dry, err := k.Delete(t.Context(), c.subject(recs), true)
			require.NoError(t, err)
			assert.True(t, dry.DryRun)
			assert.Equal(t, before, w.left(t), "it only says what it would do")
			assert.Empty(t, w.seen)
			assert.Empty(t, journal(t, dir))
			got, err := k.Delete(t.Context(), c.subject(recs), false)
			require.NoError(t, err)
			assert.Equal(t, c.left, w.left(t))
			assert.Len(t, got.Conversations, c.ids)
			assert.Equal(t, dry.Conversations, got.Conversations)
			assert.EqualValues(t, c.ids, got.Parts[0].Deleted)
			assert.Equal(t, dry.Parts[0].Bytes, got.Parts[0].Bytes)
			assert.Equal(t, "the rest of one", got.Parts[len(got.Parts)-2].Kept)
			assert.Len(t, w.seen["two"].Projects, c.project)
			assert.Equal(t, "{}", journal(t, dir), "it is finished")
		})
	}
}

func TestWhatIsInUseStaysWhole(t *testing.T) {
	t.Parallel()
	w, dir, recs := three(t)
	k := w.keeper(dir, retention.Limits{})
	_, err := w.store.Claim(t.Context(), recs[0].ID, store.Claim{Owner: "other", Hold: time.Hour})
	require.NoError(t, err)
	_, err = k.Delete(t.Context(), retention.Subject{Kind: retention.Conversation, Name: recs[0].ID}, false)
	require.ErrorIs(t, err, errBusy)
	require.NotErrorIs(t, err, retention.ErrStarted)
	assert.Len(t, w.left(t), 3)
	assert.Equal(t, "{}", journal(t, dir), "nothing goes on later by itself")
	_, err = k.Delete(t.Context(), retention.Subject{Kind: retention.Project, Name: "/p"}, false)
	require.ErrorIs(t, err, retention.ErrStarted, "the other one is gone")
	assert.Contains(t, err.Error(), "busy")
	assert.Equal(t, []string{"/p ann", "/q ann"}, w.left(t))
	assert.Empty(t, w.seen, "the places of a project with a running turn are not touched")
	_, err = k.Delete(t.Context(), retention.Subject{Kind: retention.Conversation, Name: "none"}, false)
	require.ErrorIs(t, err, store.ErrUnknown)
}

func TestAFailedPlaceIsAskedAgain(t *testing.T) {
	t.Parallel()
	w, dir, recs := three(t)
	k := w.keeper(dir, retention.Limits{})
	w.fails = func(step string) error {
		if step == "place one" {
			return errors.New("no room")
		}
		return nil
	}
	_, err := k.Delete(t.Context(), retention.Subject{Kind: retention.Sender, Name: "ann"}, false)
	require.ErrorIs(t, err, retention.ErrStarted)
	require.ErrorContains(t, err, "one: no room")
	assert.Contains(t, w.seen, "two", "the other places do not wait for it")
	assert.Equal(t, []string{"/p bob"}, w.left(t))
	w.fails = nil
	again := w.keeper(dir, retention.Limits{}) // another process
	w.talk(t, "/p", "ann", 5)
	require.NoError(t, again.Resume(t.Context()))
	assert.Contains(t, w.seen["one"].Conversations, recs[2].ID, "it still knows what was deleted")
	assert.Equal(t, []string{"/p ann", "/p bob"}, w.left(t), "what came after the deletion stays")
	assert.Equal(t, "{}", journal(t, dir))
	assert.Len(t, w.notes, 1)
}

// dieInTheMiddle deletes a sender's data and kills itself at the step that the environment names.
func dieInTheMiddle(dir string) {
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "c.db"), nil)
	if err != nil {
		panic(err)
	}
	w := &world{store: st}
	count := 0
	w.fails = func(step string) error {
		if count++; fmt.Sprint(count) == os.Getenv(victimDir+"_STEP") {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
		return nil
	}
	_, err = w.keeper(dir, retention.Limits{}).Delete(context.Background(), retention.Subject{Kind: retention.Sender, Name: "ann"}, false)
	panic(fmt.Sprint("it lives: ", err))
}

// TestAKilledDeletionGoesOn: whatever the step before which the process is killed, the next one
// finishes it, and nothing else is touched.
func TestAKilledDeletionGoesOn(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for step := 1; step <= 4; step++ { // two conversations, two places
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			st, err := sqlite.Open(t.Context(), filepath.Join(dir, "c.db"), nil)
			require.NoError(t, err)
			w := &world{store: st}
			var ids []string
			for _, project := range []string{"/p", "/q"} {
				ids = append(ids, w.talk(t, project, "ann", 1000).ID)
				w.talk(t, project, "bob", 1000)
			}
			require.NoError(t, st.Close())
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), victimDir+"="+dir, victimDir+"_STEP="+fmt.Sprint(step))
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.NotContains(t, string(out), "it lives")

			st, err = sqlite.Open(t.Context(), filepath.Join(dir, "c.db"), nil)
			require.NoError(t, err)
			defer func() { assert.NoError(t, st.Close()) }()
			w.store = st
			require.Contains(t, journal(t, dir), "sender ann")
			require.NoError(t, w.keeper(dir, retention.Limits{}).Resume(t.Context()))
			assert.Equal(t, []string{"/p bob", "/q bob"}, w.left(t))
			for _, place := range []string{"one", "two"} {
				assert.Subset(t, w.seen[place].Conversations, ids, "places know the conversations that are gone")
				assert.Len(t, w.seen[place].Conversations, 4)
			}
			assert.Equal(t, "{}", journal(t, dir))
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, dir := &world{store: mem.New(nil)}, t.TempDir()
		w.talk(t, "/p", "old", 100)
		open := w.talk(t, "/p", "interrupted", 100)
		held := w.talk(t, "/p", "held", 100)
		time.Sleep(80 * 24 * time.Hour)
		w.talk(t, "/p", "new", 100)
		w.talk(t, "/q", "new", 100)
		_, err := w.store.Claim(t.Context(), held.ID, store.Claim{Owner: "other", Hold: 30 * 24 * time.Hour})
		require.NoError(t, err)
		k := w.keeper(dir, retention.Limits{Age: 90 * 24 * time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		synctest.Wait()
		assert.Len(t, w.left(t), 5, "none is so old")
		time.Sleep(12 * 24 * time.Hour)
		synctest.Wait()
		assert.Equal(t, []string{"/p held", "/p new", "/q new"}, w.left(t))
		assert.Contains(t, strings.Join(w.notes, "\n"), "retention: deleted 2 conversations of /p with")
		_, err = w.store.Find(t.Context(), open.ID)
		require.ErrorIs(t, err, store.ErrUnknown)
		time.Sleep(30 * 24 * time.Hour)
		synctest.Wait()
		assert.Equal(t, []string{"/p new", "/q new"}, w.left(t), "its lease has ended")
		cancel()
		<-done
	})
}

func TestAnInterruptedTurnWaitsForItsPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, dir := &world{store: mem.New(&mem.Options{Journal: true})}, t.TempDir()
		rec := w.talk(t, "/p", "ann", 100)
		_, err := w.store.Note(t.Context(), rec.ID, store.Note{Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}}})
		require.NoError(t, err)
		time.Sleep(100 * 24 * time.Hour)
		require.NoError(t, w.keeper(dir, retention.Limits{Age: time.Hour, Bytes: 1}).Sweep(t.Context()))
		assert.Equal(t, []string{"/p ann"}, w.left(t))
	})
}

func TestTheOldestGoUntilAProjectIsSmallEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, dir := &world{store: mem.New(nil)}, t.TempDir()
		for _, sender := range []string{"c", "a", "b"} {
			w.talk(t, "/p", sender, 1000)
			w.talk(t, "/q", sender, 10)
			time.Sleep(time.Hour)
		}
		k := w.keeper(dir, retention.Limits{Bytes: 2100})
		require.NoError(t, k.Sweep(t.Context()))
		assert.Equal(t, []string{"/p a", "/p b", "/q a", "/q b", "/q c"}, w.left(t))
		require.NoError(t, k.Sweep(t.Context()))
		assert.Len(t, w.left(t), 5)
		assert.Len(t, w.notes, 1)
	})
}

func TestAgesAndSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1y": 365 * 24 * time.Hour, "36h": 36 * time.Hour,
		"": 0, "0d": 0, "-1d": 0, "5": 0, "5m": 0, "d": 0, "1.5d": 0, "99999999d": 0} {
		got, err := retention.ParseAge(text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, want == 0, err != nil, text)
	}
	for text, want := range map[string]int64{"2GiB": 2 << 30, "500 MiB": 500 << 20, "1TiB": 1 << 40, "": 0, "0GiB": 0, "-1GiB": 0, "2GB": 0, "GiB": 0, "2": 0} {
		got, err := retention.ParseSize(text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, want == 0, err != nil, text)
	}
}
