package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// TestRacesAreAnsweredWithWhatTheyAre: compactions race with each other, with turns and
// with rewinds, in two daemons over one database. Nothing of that is a failure of a
// daemon.
func TestRacesAreAnsweredWithWhatTheyAre(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	var worlds []*world
	for range 2 {
		db, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		worlds = append(worlds, newWorld(t, &worldOptions{store: db, end: func() { _ = db.Close() }}))
	}
	conv := worlds[0].conversation("ann")
	for i := range 4 {
		worlds[0].turn(conv.ID, fmt.Sprint("turn ", i))
	}
	r := races{t: t, seen: map[string]int{}}
	var wg sync.WaitGroup
	for i, w := range []*world{worlds[0], worlds[0], worlds[0], worlds[1], worlds[1]} {
		wg.Go(func() {
			for n := range 60 {
				_, err := w.direct.Compact(t.Context(), conv.ID, wire.NewCompaction{Keep: 1})
				r.allow("compact", err, wire.CodeBusy, wire.CodeIdle)
				_, err = w.direct.SendWhenBusy(t.Context(), conv.ID, fmt.Sprint("more ", n), []wire.Busy{wire.BusyRefuse, wire.BusySteer}[n%2])
				r.allow("send", err, wire.CodeBusy)
				if i == 0 {
					_, err = w.direct.Rewind(t.Context(), conv.ID, wire.Rewind{Turns: n % 6})
					r.allow("rewind", err, wire.CodeBusy, wire.CodeInvalid)
					_, err = w.direct.Fork(t.Context(), conv.ID, wire.NewFork{Turns: n % 6})
					r.allow("fork", err, wire.CodeInvalid)
				}
				_, err = w.direct.Cancel(t.Context(), conv.ID)
				r.allow("cancel", err)
			}
		})
	}
	wg.Wait()
	t.Log(r.seen)
	for _, what := range []string{"compact ", "compact busy", "send ", "rewind busy"} {
		assert.Positive(t, r.seen[what], what)
	}
}

// races counts answers by operation and code.
type races struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[string]int
}

// allow counts an answer, which is one of these codes or a success.
func (r *races) allow(what string, err error, codes ...wire.Code) {
	r.mu.Lock()
	defer r.mu.Unlock()
	code := client.CodeOf(err)
	r.seen[what+" "+string(code)]++
	if err != nil && !slices.Contains(codes, code) {
		assert.NoError(r.t, err, what)
	}
}

// TestAModelThatFailsIsNoFailureOfTheDaemon: nothing has changed, and the error
// says that the model failed.
func TestAModelThatFailsIsNoFailureOfTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	for range 3 {
		w.turn(conv.ID, "hi")
	}
	for focus, says := range map[string]string{"fail, model": "the model is away", "be long, model": "bytes of at most 16000"} {
		_, err := w.client.Compact(t.Context(), conv.ID, wire.NewCompaction{Keep: 1, Focus: focus})
		answer, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, http.StatusBadGateway, answer.Status)
		assert.Equal(t, wire.CodeModel, answer.Code)
		assert.ErrorContains(t, err, says)
	}
	messages, err := w.client.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	assert.Len(t, messages, 6)
}
