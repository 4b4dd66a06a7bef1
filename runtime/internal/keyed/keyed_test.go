package keyed_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/internal/keyed"
)

func TestLockIsExclusiveForItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks keyed.Locks
		unlock, err := locks.Lock(t.Context(), "a", "the first", nil)
		require.NoError(t, err)
		began, told := time.Now(), []string{}
		got := make(chan time.Duration, 1)
		go func() {
			unlock, err := locks.Lock(t.Context(), "a", "the second", func(holder string) { told = append(told, holder) })
			assert.NoError(t, err)
			unlock()
			got <- time.Since(began)
		}()
		other, err := locks.Lock(t.Context(), "b", "", nil)
		require.NoError(t, err, "another key is free")
		other()
		time.Sleep(time.Minute)
		unlock()
		assert.Equal(t, time.Minute, <-got)
		assert.Equal(t, []string{"the first"}, told)
	})
}

func TestLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks keyed.Locks
		unlock, err := locks.Lock(t.Context(), "a", "", nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err = locks.Lock(ctx, "a", "", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(began))
		unlock()
		again, err := locks.Lock(t.Context(), "a", "", nil)
		require.NoError(t, err, "the user that gave up does not hold it")
		again()
	})
}

func TestNoKeyIsAlwaysFree(t *testing.T) {
	t.Parallel()
	var locks keyed.Locks
	for range 2 {
		unlock, err := locks.Lock(t.Context(), "", "", nil)
		require.NoError(t, err)
		defer unlock()
	}
}
