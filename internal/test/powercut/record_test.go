package powercut_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/powercut"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// TestWhatIsRecorded holds a short trace against what SQLite is known to do: an
// append ends in a sync of the log, and the acknowledgement comes behind it.
func TestWhatIsRecorded(t *testing.T) {
	dir := t.TempDir()
	r, err := powercut.Record(dir, nil)
	require.NoError(t, err)
	_, err = powercut.Record(dir, nil)
	require.ErrorContains(t, err, "another recorder has not stopped yet")
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, dbName), nil)
	require.NoError(t, err)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	r.Mark(1)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("hello"))})
	require.NoError(t, err)
	r.Mark(2)
	_, err = r.Stop()
	require.ErrorContains(t, err, "still open")
	require.NoError(t, s.Close())
	trace, err := r.Stop()
	require.NoError(t, err)

	assert.Equal(t, powercut.Op{Kind: powercut.Create, Name: dbName}, trace[0])
	var kinds []powercut.Kind
	inside, closing := false, false
	for _, op := range trace {
		switch {
		case op.Kind == powercut.Mark:
			inside, closing = op.Mark == 1, op.Mark == 2
		case inside:
			assert.Equal(t, dbName+"-wal", op.Name)
			kinds = append(kinds, op.Kind)
		case closing && op.Kind == powercut.Delete:
			assert.Equal(t, dbName+"-wal", op.Name)
			closing = false
		}
	}
	require.Greater(t, len(kinds), 2)
	assert.Equal(t, powercut.Sync, kinds[len(kinds)-1])
	assert.NotContains(t, kinds[:len(kinds)-1], powercut.Sync)
	assert.Contains(t, kinds, powercut.Write)
	assert.False(t, closing, "closing takes the log away")
}

// What happens in another directory is nobody's business.
func TestOtherDirectoriesAreNotRecorded(t *testing.T) {
	r, err := powercut.Record(t.TempDir(), nil)
	require.NoError(t, err)
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), dbName), nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	trace, err := r.Stop()
	require.NoError(t, err)
	assert.Empty(t, trace)
}

func TestADirectoryThatIsNotThere(t *testing.T) {
	_, err := powercut.Record(filepath.Join(t.TempDir(), "gone"), nil)
	assert.ErrorContains(t, err, "powercut: ")
}
