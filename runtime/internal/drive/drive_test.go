package drive_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const grace = time.Second

// owner starts loops and counts what was abandoned.
type owner struct {
	pool      drive.Pool
	abandoned map[hook.Point]int
}

func newOwner() *owner { return &owner{abandoned: map[hook.Point]int{}} }

// patience looks eight times in the grace period, and no longer than twice that.
func (o *owner) patience() drive.Patience {
	return drive.Patience{Grace: grace, Last: time.Now().Add(2 * grace), Looks: 8, Abandon: func(p hook.Point) func() {
		o.abandoned[p]++
		return func() { o.abandoned[p]-- }
	}}
}

func TestALoopEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		defer o.pool.Close()
		for range 3 { // on the same goroutine
			var l drive.Loop
			ran := false
			o.pool.Start(&l, func() {
				l.Enter(point.OnEvent)
				l.Return()
				ran = true
			})
			assert.True(t, l.Wait(t.Context(), drive.Watch{}))
			assert.True(t, l.Finished())
			assert.False(t, l.Abandoned())
			assert.True(t, ran)
			l.Release()
		}
	})
}

func TestALoopThatHangsInForeignCodeIsAbandonedAfterTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		var l drive.Loop
		release, touched, unwound := make(chan struct{}), false, false
		o.pool.Start(&l, func() {
			defer func() { unwound = true }()
			l.Enter(point.BeforeStep)
			<-release
			l.Return()
			touched = true
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		assert.False(t, l.Wait(ctx, drive.Watch{}))
		assert.False(t, l.WaitOrAbandon(o.patience()))
		assert.InDelta(t, grace, time.Since(began), float64(grace)/8)
		assert.True(t, l.Abandoned())
		assert.Equal(t, point.BeforeStep, l.At())
		assert.Equal(t, 1, o.abandoned[point.BeforeStep])
		close(release)
		synctest.Wait()
		assert.True(t, unwound, "its goroutine ends when it comes back")
		assert.False(t, touched, "and runs nothing any more")
		assert.Zero(t, o.abandoned[point.BeforeStep])
		o.pool.Close()
	})
}

func TestALoopThatComesBackIsNotAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		defer o.pool.Close()
		var l drive.Loop
		o.pool.Start(&l, func() {
			for range 3 { // each call takes most of the grace period, and all of them longer
				l.Enter(point.AfterTool)
				time.Sleep(grace / 2)
				l.Return()
			}
		})
		assert.True(t, l.WaitOrAbandon(o.patience()))
		assert.True(t, l.Finished())
		assert.Empty(t, o.abandoned)
		l.Release()
	})
}

func TestALoopIsAbandonedAtTheLatestMomentWhateverItCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		var l drive.Loop
		o.pool.Start(&l, func() {
			for {
				l.Enter(point.AfterTool)
				time.Sleep(grace / 2)
				l.Return()
			}
		})
		began := time.Now()
		assert.False(t, l.WaitOrAbandon(o.patience()))
		assert.InDelta(t, 2*grace, time.Since(began), float64(grace)/8)
		time.Sleep(grace) // its goroutine ends
		o.pool.Close()
	})
}

func TestALoopIsNeverAbandonedInItsOwnCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		defer o.pool.Close()
		var l drive.Loop
		o.pool.Start(&l, func() { time.Sleep(10 * grace) })
		assert.True(t, l.WaitOrAbandon(o.patience()))
		assert.False(t, l.Abandoned())
		l.Release()
	})
}

func TestForeignCodeMayEndTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		defer o.pool.Close()
		var l drive.Loop
		o.pool.Start(&l, func() {
			l.Enter(point.BeforeTool)
			runtime.Goexit()
		})
		assert.True(t, l.Wait(t.Context(), drive.Watch{}))
		assert.False(t, l.Finished())
		l.Release()
	})
}

func TestALoopMayLimitItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		defer o.pool.Close()
		var l drive.Loop
		o.pool.Start(&l, func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			l.LimitTime(ctx)
			<-ctx.Done()
			time.Sleep(grace / 2)
		})
		began := time.Now()
		assert.False(t, l.Wait(t.Context(), drive.Watch{}))
		assert.Equal(t, time.Minute, time.Since(began))
		assert.True(t, l.WaitOrAbandon(o.patience()))
		l.Release()
	})
}

func TestWithoutALoopNothingIsAbandoned(t *testing.T) {
	var none *drive.Loop
	none.Enter(point.OnEvent)
	assert.True(t, none.Back())
	assert.False(t, none.Abandoned())
}

func TestALoopWatchesForeignCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		defer o.pool.Close()
		const bound = 8 * time.Second
		var late []hook.Point
		var ended atomic.Bool
		watch := drive.Watch{Bound: bound, Late: func(p hook.Point) bool {
			late = append(late, p)
			return p == point.BeforeTurn
		}}
		var l drive.Loop
		o.pool.Start(&l, func() {
			for range 5 { // none is late
				l.Enter(point.BeforeModel)
				time.Sleep(bound / 2)
				l.Return()
			}
			time.Sleep(3 * bound) // the loop's own code
			l.Enter(point.WrapModel)
			time.Sleep(bound + bound/2) // late, but left alone
			l.Return()
			l.Enter(point.BeforeTurn)
			time.Sleep(2 * bound)
			l.Return()
			ended.Store(true)
		})
		began := time.Now()
		assert.False(t, l.Wait(t.Context(), watch))
		assert.Equal(t, []hook.Point{point.WrapModel, point.BeforeTurn}, late)
		assert.InDelta(t, 8*bound, time.Since(began), float64(bound), "within a quarter more than the bound")
		assert.False(t, ended.Load())
		assert.True(t, l.Wait(t.Context(), drive.Watch{}))
		l.Release()
		o.pool.Start(&l, func() { l.Enter(point.BeforeTurn); time.Sleep(10 * bound); l.Return() })
		assert.True(t, l.Wait(t.Context(), drive.Watch{}), "without a bound nothing is watched")
		l.Release()
	})
}
