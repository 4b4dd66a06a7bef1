package runlog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/runlog"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow is a store that counts its writes, and fails or waits as it is told.
type slow struct {
	mu     sync.Mutex
	writes [][]store.Run
	err    error
	wait   time.Duration
}

func (s *slow) WriteRuns(_ context.Context, runs []store.Run) error {
	time.Sleep(s.wait)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, runs)
	return s.err
}

func (s *slow) Runs(context.Context, store.RunFilter) ([]store.Run, error) { return nil, nil }

// logOf returns a started log over the store, and what it told.
func logOf(s *slow) (l *runlog.Log, told func() []hook.DiagnosticCode) {
	var mu sync.Mutex
	var codes []hook.DiagnosticCode
	l = runlog.New(runlog.Config{Store: s, Now: time.Now, Told: func(_ context.Context, d hook.Diagnostic) {
		mu.Lock()
		defer mu.Unlock()
		codes = append(codes, d.Code)
	}})
	l.Start()
	return l, func() []hook.DiagnosticCode {
		mu.Lock()
		defer mu.Unlock()
		return codes
	}
}

func run(id string, status hook.RunStatus) store.Run { return store.Run{ID: id, Status: status} }

func TestAShortRunIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		l, told := logOf(s)
		l.Put(run("1", event.RunRunning))
		l.Put(run("1", event.RunSucceeded))
		l.Put(run("2", event.RunRunning))
		l.Close()
		require.Len(t, s.writes, 1, "closing writes what waits")
		require.Len(t, s.writes[0], 2)
		assert.Equal(t, event.RunSucceeded, s.writes[0][0].Status)
		assert.Empty(t, told())
		l.Put(run("3", event.RunRunning))
		l.Close()
		assert.Len(t, s.writes, 1, "what comes later is dropped")
	})
}

func TestAStoreThatIsTooSlowLosesRecordsAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{wait: time.Hour}
		l, told := logOf(s)
		began := time.Now()
		for i := range 10_000 {
			l.Put(run(fmt.Sprint(i), event.RunRunning))
		}
		assert.Equal(t, began, time.Now(), "nobody waits")
		l.Close()
		kept := 0
		for _, w := range s.writes {
			kept += len(w)
		}
		assert.Equal(t, 4096, kept)
		assert.Equal(t, []hook.DiagnosticCode{runlog.CodeLost}, told())
	})
}

func TestAStoreThatFailsIsToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{err: errors.New("no room")}
		l, told := logOf(s)
		for i := range 3 {
			l.Put(run(fmt.Sprint(i), event.RunRunning))
			time.Sleep(time.Second)
		}
		assert.Equal(t, []hook.DiagnosticCode{runlog.CodeFailed}, told())
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		l.Put(run("good", event.RunRunning))
		time.Sleep(time.Second)
		s.mu.Lock()
		s.err = errors.New("again")
		s.mu.Unlock()
		l.Put(run("bad", event.RunRunning))
		l.Close()
		assert.Equal(t, []hook.DiagnosticCode{runlog.CodeFailed, runlog.CodeFailed}, told())
	})
}

func TestNoLogWritesNothing(t *testing.T) {
	t.Parallel()
	var l *runlog.Log
	l.Start()
	l.Put(run("1", event.RunRunning))
	l.Close()
}
