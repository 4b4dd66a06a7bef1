package stdout_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/stdout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAWriteThatFailsLosesIt, once and for all: the first error counts.
func TestAWriteThatFailsLosesIt(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	o := stdout.New(file)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	bound := o.Bind(ctx)
	_, err = o.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, bound.Err())
	require.NoError(t, file.Close())
	for range 2 {
		_, err = o.Write([]byte("y"))
		require.ErrorIs(t, err, os.ErrClosed)
	}
	<-bound.Done()
	var lost stdout.LostError
	require.ErrorAs(t, context.Cause(bound), &lost)
	assert.ErrorIs(t, lost, os.ErrClosed)
	assert.ErrorIs(t, lost, context.Canceled)
	assert.Equal(t, lost, context.Cause(o.Lost()))
	assert.NoError(t, ctx.Err(), "the context above goes on")
	<-o.Bind(ctx).Done() // what is bound later ends, too
}

// TestAReaderThatGoesLosesIt while nothing is written, and nothing is left behind when
// the context ends first.
func TestAReaderThatGoesLosesIt(t *testing.T) {
	t.Parallel()
	for _, leaves := range []bool{true, false} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		o := stdout.New(w)
		ctx, cancel := context.WithCancel(t.Context())
		bound := o.Bind(ctx)
		_, err = o.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, bound.Err())
		if leaves {
			require.NoError(t, r.Close())
			select {
			case <-bound.Done():
				assert.ErrorIs(t, context.Cause(bound), syscall.EPIPE)
			case <-time.After(time.Minute):
				assert.Fail(t, "it is not noticed")
			}
		}
		cancel()
		<-bound.Done()
		assert.Equal(t, leaves, o.Lost().Err() != nil)
		_ = r.Close()
		require.NoError(t, w.Close())
	}
}

// TestABoundContextThatHasEndedIsLetGo.
func TestABoundContextThatHasEndedIsLetGo(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	o := stdout.New(file)
	type key struct{}
	bind := func() weak.Pointer[[64]byte] {
		value := new([64]byte)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, value))
		bound := o.Bind(ctx)
		cancel()
		<-bound.Done()
		return weak.Make(value)
	}
	value := bind()
	assert.Eventually(t, func() bool {
		runtime.GC()
		return value.Value() == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, o.Lost().Err())
	require.NoError(t, file.Close())
}
