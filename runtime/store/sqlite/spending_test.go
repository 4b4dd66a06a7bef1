package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// spenderFile names the variable by which a test makes its own binary spend money until it
// is killed, or until the limit is reached.
const spenderFile = "GRAPNEL_TEST_SPEND"

// Each call of a spender reserves spenderMost and costs spenderCost.
const (
	spenderMost  hook.Cost = 10
	spenderCost  hook.Cost = 7
	spenderLimit hook.Cost = 2000
)

// spendForever makes calls at the same time and prints a line for each that is settled, until
// the limit is reached.
func spendForever(path string) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, nil)
	check(err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				id, err := s.Reserve(ctx, spenderCall(), []store.SpendingLimit{{Name: "all", Max: spenderLimit}})
				var reached *store.LimitError
				if errors.As(err, &reached) {
					return
				}
				check(err)
				done := spenderCall().Least
				done.Cost = spenderCost
				check(s.Settle(ctx, id, done))
				fmt.Println("settled")
			}
		})
	}
	wg.Wait()
	check(s.Close())
	os.Exit(0)
}

func spenderCall() store.Reservation {
	return store.Reservation{
		Least: store.Spent{SpentKey: store.SpentKey{Day: "2026-03-04", Project: "/p"}, Calls: 1, Estimated: 1, Cost: 1}, Most: spenderMost, Hold: time.Minute,
	}
}

func spender(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), spenderFile+"="+path), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// What a process has spent is there after a kill, and the calls that it had in flight count as
// estimates once their time is over.
func TestAKillLosesNoMoney(t *testing.T) {
	t.Parallel()
	path := file(t)
	cmd, lines := spender(t, path)
	settled := int64(0)
	for lines.Scan() {
		if settled++; settled == 20 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait(), "it was killed")

	s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	require.NoError(t, err)
	rows, err := s.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Len(t, rows, 1)
	got := rows[0]
	known := int64((got.Cost - hook.Cost(got.Calls)) / (spenderCost - 1)) // an estimate costs 1
	assert.Equal(t, hook.Cost(known)*spenderCost+hook.Cost(got.Calls-known), got.Cost)
	assert.GreaterOrEqual(t, known, settled, "what was acknowledged is there")
	assert.LessOrEqual(t, known, settled+4, "and what was written and not said any more")
	assert.LessOrEqual(t, got.Calls-known, int64(4), "at most what was in flight is an estimate")
}

// Two processes exceed a limit together by less than one call.
func TestTwoProcessesShareALimit(t *testing.T) {
	t.Parallel()
	path := file(t)
	first, one := spender(t, path)
	second, two := spender(t, path)
	var wg sync.WaitGroup
	counts := make([]hook.Cost, 2)
	for i, lines := range []*bufio.Scanner{one, two} {
		wg.Go(func() {
			for lines.Scan() {
				counts[i]++
			}
		})
	}
	wg.Wait()
	require.NoError(t, first.Wait())
	require.NoError(t, second.Wait())
	rows, err := open(t, path).Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, (counts[0]+counts[1])*spenderCost, rows[0].Cost, "each call is there once")
	assert.Less(t, rows[0].Cost, spenderLimit+spenderMost)
	assert.Greater(t, rows[0].Cost, spenderLimit-8*spenderMost, "what is reserved leaves room when it ends")
}

// A file of version 5 has all of its rows, and room for money.
func TestAFileOfVersion5LosesNothing(t *testing.T) {
	t.Parallel()
	path := version4(t)
	step, err := os.ReadFile("schema/5.sql")
	require.NoError(t, err)
	steps := append(make([]string, 4), string(step))
	require.NoError(t, raw(t, path, steps...).Close())
	before := everything(t, path, steps)
	assert.NotContains(t, strings.Join(column(t, path, steps, `SELECT name FROM sqlite_schema`), " "), "spent")
	s := open(t, path)
	assert.Equal(t, before, everything(t, path, current()))
	require.NoError(t, s.Settle(t.Context(), 0, spenderCall().Least))
	rows, err := s.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	assert.Len(t, rows, 1)
}

// A store that is closed says so, and what SQLite refuses is told with what was to be done.
func TestSpendingFailsInWords(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Reserve(ctx, spenderCall(), nil)
	require.ErrorContains(t, err, "conversation store: reserve what a model call may cost: context canceled")
	require.NoError(t, s.Close())
	_, err = s.Reserve(t.Context(), spenderCall(), nil)
	require.ErrorIs(t, err, store.ErrClosed)
	require.ErrorIs(t, s.Settle(t.Context(), 0, spenderCall().Least), store.ErrClosed)
	_, err = s.Spent(t.Context(), store.SpendingFilter{})
	require.ErrorIs(t, err, store.ErrClosed)
}
