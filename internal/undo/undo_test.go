package undo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/snapshot"
	"github.com/grapnel-go/grapnel/internal/undo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type world struct {
	t       *testing.T
	project string
	dir     string
	*undo.Book
}

func newWorld(t *testing.T, o *undo.Options) *world {
	t.Helper()
	w := &world{t: t, project: t.TempDir(), dir: filepath.Join(t.TempDir(), "undo")}
	w.again(o)
	return w
}

// again is a program that is started again.
func (w *world) again(o *undo.Options) { w.Book = undo.NewBook(w.project, w.dir, o) }

func (w *world) write(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.project, name), []byte(text), 0o600))
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.project, name))
	if os.IsNotExist(err) {
		return "(none)"
	}
	require.NoError(w.t, err)
	return string(data)
}

// call runs a call of the turn.
func (w *world) call(t undo.Turn, change func()) {
	w.t.Helper()
	_, err := w.Begin(w.t.Context(), t)
	require.NoError(w.t, err)
	change()
	require.NoError(w.t, w.Done(w.t.Context(), t))
}

func (w *world) finish(t undo.Turn) {
	w.t.Helper()
	_, err := w.Finish(w.t.Context(), t)
	require.NoError(w.t, err)
}

func (w *world) undo(conversation string, r undo.Request) undo.Outcome {
	w.t.Helper()
	out, err := w.Undo(w.t.Context(), conversation, r)
	require.NoError(w.t, err)
	return out
}

func turn(conversation, id string, number int) undo.Turn {
	return undo.Turn{ID: id, Conversation: conversation, Number: number}
}

func TestTurnsAreUndoneAndDoneAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("a", "0")
	one, two := turn("c", "t1", 1), turn("c", "t2", 2)
	w.call(one, func() { w.write("a", "1") })
	w.call(one, func() { w.write("b", "1") })
	w.finish(one)
	w.finish(turn("c", "without commands", 2))
	w.call(two, func() { w.write("a", "2") })
	w.finish(two)
	w.again(nil)

	dry := w.undo("c", undo.Request{Dry: true})
	assert.Equal(t, "2", w.read("a"))
	out := w.undo("c", undo.Request{})
	assert.Equal(t, dry, out)
	assert.Equal(t, []undo.Turn{two}, out.Turns)
	assert.Equal(t, []string{"a"}, out.Restored)
	assert.Equal(t, "1", w.read("a"))

	out = w.undo("c", undo.Request{Redo: true})
	assert.Equal(t, []undo.Turn{two}, out.Turns)
	assert.Equal(t, "2", w.read("a"))

	out = w.undo("c", undo.Request{Turns: 2})
	assert.Equal(t, []undo.Turn{two, one}, out.Turns)
	assert.Equal(t, "0", w.read("a"))
	assert.Equal(t, "(none)", w.read("b"))
	_, err := w.Undo(t.Context(), "c", undo.Request{})
	require.ErrorIs(t, err, undo.ErrNothing)
	w.undo("c", undo.Request{Redo: true})
	assert.Equal(t, "2", w.read("a"))
	assert.Equal(t, "1", w.read("b"))
	_, err = w.Undo(t.Context(), "c", undo.Request{Turns: 3})
	require.ErrorContains(t, err, "snapshots of only 2 turns")
}

// TestWhatWasShownIsUndone: a person is shown what would be undone, and another turn runs before they say yes.
func TestWhatWasShownIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	run := func(id string, number int) {
		of := turn("c", id, number)
		w.call(of, func() { w.write("a", id) })
		w.finish(of)
	}
	run("t1", 1)
	shown := w.undo("c", undo.Request{Dry: true}).Turns[0].ID
	run("t2", 2)
	_, err := w.Undo(t.Context(), "c", undo.Request{Latest: shown})
	require.ErrorIs(t, err, undo.ErrMoved)
	assert.Equal(t, "t2", w.read("a"))
	w.undo("c", undo.Request{Latest: "t2"})
	w.undo("c", undo.Request{Latest: shown})
	_, err = w.Undo(t.Context(), "c", undo.Request{Redo: true, Latest: "t2"})
	require.ErrorIs(t, err, undo.ErrMoved)
	w.undo("c", undo.Request{Redo: true, Latest: shown})
	assert.Equal(t, "t1", w.read("a"))
}

// TestTwoConversationsAtTheSameTime: each undo takes back only what its own calls did.
func TestTwoConversationsAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a, b := turn("A", "a1", 1), turn("B", "b1", 1)
	w.call(a, func() { w.write("first", "a") })
	w.call(b, func() { w.write("of-b", "b") })
	w.write("person", "p")
	w.call(a, func() { w.write("second", "a") })
	w.call(b, func() { w.write("second", "b") })
	_, err := w.Undo(t.Context(), "A", undo.Request{})
	require.ErrorIs(t, err, undo.ErrRunning)
	w.finish(a)
	w.finish(b)
	out := w.undo("A", undo.Request{})
	assert.Equal(t, []string{"first"}, out.Removed)
	assert.Equal(t, []snapshot.Conflict{{Path: "second", Why: "it changed after that"}}, out.Conflicts)
	assert.Equal(t, "p", w.read("person"))
	out = w.undo("B", undo.Request{})
	assert.Equal(t, []string{"of-b"}, out.Removed)
	assert.Equal(t, []string{"second"}, out.Restored)
	assert.Equal(t, "a", w.read("second"))
	assert.Equal(t, "p", w.read("person"))
}

// TestCallsThatOverlap: what two calls changed at the same time belongs to neither.
func TestCallsThatOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a, b := turn("A", "a1", 1), turn("B", "b1", 1)
	w.call(a, func() {
		w.write("mine", "a")
		w.call(b, func() { w.write("whose", "?") })
	})
	w.finish(a)
	w.finish(b)
	out := w.undo("A", undo.Request{})
	assert.Equal(t, []string{"mine"}, out.Removed)
	assert.Equal(t, []snapshot.Conflict{{Path: "whose", Why: "conversation B may have changed it at the same time"}}, out.Conflicts)
	assert.Equal(t, "?", w.read("whose"))
}

// TestTheProgramEndsInATurn: the turn can be undone, and the outcome says what that means. It does not spoil turns of others.
func TestTheProgramEndsInATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.Begin(t.Context(), turn("A", "a1", 1))
	require.NoError(t, err)
	w.write("made", "a")

	w.again(&undo.Options{Owner: "second", Gone: func(string) bool { return false }})
	_, err = w.Undo(t.Context(), "A", undo.Request{})
	require.ErrorIs(t, err, undo.ErrRunning)

	w.again(&undo.Options{Owner: "third"})
	w.call(turn("B", "b1", 1), func() { w.write("other", "b") })
	w.finish(turn("B", "b1", 1))
	out := w.undo("B", undo.Request{})
	assert.Equal(t, []string{"other"}, out.Removed)
	out = w.undo("A", undo.Request{})
	assert.True(t, out.Unended)
	assert.Equal(t, []string{"made"}, out.Removed)
}

func TestATurnThatIsNotCovered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &undo.Options{Snapshots: &snapshot.Options{Files: 1}})
	w.write("a", "")
	w.write("b", "")
	_, err := w.Begin(t.Context(), turn("A", "a1", 1))
	require.ErrorIs(t, err, snapshot.ErrTooLarge)
	_, err = w.Begin(t.Context(), turn("A", "a1", 1))
	require.ErrorIs(t, err, undo.ErrNotCovered)
	w.finish(turn("A", "a1", 1))
	_, err = w.Undo(t.Context(), "A", undo.Request{})
	require.ErrorIs(t, err, undo.ErrKept)
	require.ErrorContains(t, err, "turn 1 cannot be undone: the project is too large")
}

func TestOldTurnsAreDropped(t *testing.T) {
	t.Parallel()
	var dropped int
	w := newWorld(t, &undo.Options{Turns: 2, Dropped: func(n int, _ int64) { dropped += n }})
	for i := range 12 {
		id := turn("A", string(rune('a'+i)), i+1)
		w.call(id, func() { w.write("f", id.ID) })
		w.finish(id)
		require.NoError(t, w.Prune(t.Context()))
	}
	assert.Equal(t, 10, dropped)
	_, err := w.Undo(t.Context(), "A", undo.Request{Turns: 3})
	require.ErrorContains(t, err, "snapshots of only 2 turns with commands are kept")
	w.undo("A", undo.Request{Turns: 2})
	assert.Equal(t, "j", w.read("f"))
}

// TestNothingIsMadeWithoutCommands: a turn without commands pays nothing.
func TestNothingIsMadeWithoutCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.finish(turn("A", "a1", 1))
	assert.NoDirExists(t, w.dir)
}

func TestText(t *testing.T) {
	t.Parallel()
	out := undo.Outcome{Unended: true, Result: snapshot.Result{
		Restored: []string{"a", "b\x1b[31m", "c"}, Removed: []string{"caf\xe9"},
		Conflicts: []snapshot.Conflict{{Path: "d", Why: "it changed after that"}},
		Lost:      []snapshot.LeftOut{{Path: "big", Bytes: 9, Why: "it is larger than 8 bytes"}},
	}}
	assert.Equal(t, `restored (3):
  a
  "b\x1b[31m"
  … and 1 more
removed (1):
  "caf\xe9"
left as they are (1):
  d: it changed after that
not kept, so they cannot come back (1):
  big: it is larger than 8 bytes
the program ended within the turn: what others changed since then counts as its own
`, out.Text(undo.Request{}, 2))
	assert.Contains(t, out.Text(undo.Request{Dry: true}, 0), "would restore (3):")
	assert.Equal(t, "nothing differs from before\n", undo.Outcome{}.Text(undo.Request{}, 0))
}

// What a command of another conversation made at a place that runs code, and that was moved away from there, no undo puts back.
func TestWhatWasMovedAwayStaysAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	one, two := turn("c", "t1", 1), turn("d", "t2", 1)
	w.call(one, func() {
		w.write(".envrc", "evil")
		w.call(two, func() {
			w.write("a", "two")
			require.NoError(t, os.Remove(filepath.Join(w.project, ".envrc"))) // as the sandbox does
		})
	})
	w.finish(one)
	w.finish(two)
	out := w.undo("d", undo.Request{})
	assert.Equal(t, "(none)", w.read(".envrc"))
	require.NotEmpty(t, out.Conflicts)
	assert.Equal(t, ".envrc", out.Conflicts[0].Path)
}
