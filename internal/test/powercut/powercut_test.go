package powercut_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/powercut"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	cutsFlag = flag.Int("powercut.n", 0, "how often TestPowerCuts cuts the power; 0 is a short round, and from some thousands on there is a cut before every operation")
	seedFlag = flag.Uint64("powercut.seed", 1, "what is left of a trace is chosen by it")
)

// rounds says how much a short round does.
type rounds struct{ cuts, recoveries, cutsOfEach, bad int }

// recorded is a trace with somebody who knows what must be left of it.
type recorded struct {
	trace powercut.Trace
	// promises is how many writes were acknowledged, each with a mark.
	promises int
	// examine looks at what is left in a directory. The numbers are the marks of the
	// trace before the cut. With use it also writes there.
	examine func(ctx context.Context, dir string, acknowledged []int, use bool) finding
}

// finding is what is wrong with the files that were left.
type finding struct {
	// lost is how many acknowledged writes are not there.
	lost int
	// broken is everything else: something is there in part, the file is damaged, or
	// cannot be used.
	broken []error
	// took is how long it took to open the files and list what is in them.
	took time.Duration
}

func (f *finding) breaks(format string, args ...any) {
	f.broken = append(f.broken, fmt.Errorf(format, args...))
}

// outcome is what many cuts have shown.
type outcome struct {
	cuts, prefixes int
	// lost is the acknowledged writes that were not there, of all cuts.
	lost   int
	broken []error
	took   []time.Duration
}

// cut cuts the power n times, evenly over the operations from first to last, each
// inclusive, and looks at what is left.
func (rec recorded) cut(t *testing.T, first, last, n int) outcome {
	t.Helper()
	places := make([]int, n)
	for i := range places {
		places[i] = first + i*(last-first+1)/n
	}
	workers := 2 * goruntime.GOMAXPROCS(0) // most of the time is waiting for a disk
	parts := make([]outcome, workers)
	dir, err := os.MkdirTemp(t.ArtifactDir(), "cuts")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { parts[w] = rec.cutAt(t.Context(), dir, places[w*n/workers:(w+1)*n/workers]) })
	}
	wg.Wait()
	all := outcome{cuts: n, prefixes: len(slices.Compact(places))}
	for _, p := range parts {
		all.lost += p.lost
		all.broken = append(all.broken, p.broken...)
		all.took = append(all.took, p.took...)
	}
	slices.Sort(all.took)
	return all
}

func (rec recorded) cutAt(ctx context.Context, dir string, places []int) (out outcome) {
	disk := powercut.NewDisk(rec.trace)
	times := map[int]uint64{}
	var acknowledged []int
	done := 0
	for _, at := range places {
		disk.Play(at)
		for ; done < at; done++ {
			if op := rec.trace[done]; op.Kind == powercut.Mark {
				acknowledged = append(acknowledged, op.Mark)
			}
		}
		times[at]++
		left := filepath.Join(dir, fmt.Sprintf("cut-%d-%d", at, times[at]))
		if err := errors.Join(os.MkdirAll(left, 0o700), disk.Cut(left, seeded(at, times[at]))); err != nil {
			out.broken = append(out.broken, err)
			return out
		}
		// A damaged store must not keep anybody for ever; of one that is sound that is plenty.
		limited, cancel := context.WithTimeout(ctx, 20*time.Second)
		f := rec.examine(limited, left, acknowledged, true)
		cancel()
		out.lost += f.lost
		out.took = append(out.took, f.took)
		if err := errors.Join(f.broken...); err != nil {
			out.broken = append(out.broken, fmt.Errorf("before operation %d, seed %d, time %d: %w", at, *seedFlag, times[at], err))
		}
		if f.lost > 0 || len(f.broken) > 0 {
			continue // the files are for whoever looks for the reason: go test -artifacts keeps them
		}
		if err := os.RemoveAll(left); err != nil {
			out.broken = append(out.broken, err)
		}
	}
	return out
}

// seeded returns what chooses what is left before an operation, the nth time.
func seeded(at int, nth uint64) *rand.Rand {
	return rand.New(rand.NewPCG(*seedFlag, uint64(at)<<16|nth))
}

// checkpoints counts how often the database itself was synced between two
// promises, because what the log had was moved to it, and how often the log was
// then written from its start again.
func (rec recorded) checkpoints() (moved, again int) {
	first := slices.IndexFunc(rec.trace, func(op powercut.Op) bool { return op.Kind == powercut.Mark })
	pending := 0
	begun := map[int]bool{}
	for i, op := range rec.trace {
		switch {
		case op.Kind == powercut.Sync && op.Name == dbName && i > first:
			pending++
		case op.Kind == powercut.Mark:
			moved, pending = moved+pending, 0
		case op.Kind == powercut.Write && log(op.Name) && op.Offset == 0:
			if begun[op.File] {
				again++
			}
			begun[op.File] = true
		}
	}
	return moved, again
}

// log reports whether it is SQLite's write-ahead log.
func log(name string) bool { return strings.HasSuffix(name, "-wal") }

func figure(t *testing.T, name string, value any, unit string) {
	t.Helper()
	t.Log(strings.TrimSpace(fmt.Sprintf("FIGURE %s=%v %s", name, value, unit)))
}

// figures says what came of the cuts, and fails if anything was lost or broken.
func (o outcome) figures(t *testing.T, prefix string) {
	t.Helper()
	figure(t, prefix+"lost", o.lost, "acknowledged writes")
	figure(t, prefix+"broken", len(o.broken), "stores")
	figure(t, prefix+"recovered-median", o.took[len(o.took)/2].Round(10*time.Microsecond), "")
	figure(t, prefix+"recovered-worst", o.took[len(o.took)-1].Round(10*time.Microsecond), "")
	assert.Zero(t, o.lost)
	assert.NoError(t, errors.Join(o.broken...))
}

func TestPowerCuts(t *testing.T) {
	needs.Proof(t)
	rec := record(t, nil, false)
	checkpoints, again := rec.checkpoints()
	require.Positive(t, again, "the log was never begun again: the trace is too short to show anything about a checkpoint")
	figure(t, "seed", *seedFlag, "")
	figure(t, "writes", rec.promises, "acknowledged")
	figure(t, "operations", len(rec.trace), "of the disk")
	figure(t, "checkpoints", checkpoints, "in the trace")
	figure(t, "log-restarts", again, "in the trace")
	t.Run("once", func(t *testing.T) {
		got := rec.cut(t, 0, len(rec.trace), atLeast(short.cuts, 1))
		figure(t, "cuts", got.cuts, "")
		figure(t, "prefixes", got.prefixes, "different")
		got.figures(t, "")
	})
	t.Run("again while recovering", func(t *testing.T) {
		n := atLeast(short.recoveries, 200)
		got := rec.cutTwice(t, n, atLeast(short.cutsOfEach, 100))
		figure(t, "recoveries-cut", n, "")
		figure(t, "recoveries-cuts", got.cuts, "in all")
		got.figures(t, "recoveries-")
	})
	t.Run("same seed", func(t *testing.T) {
		disk := powercut.NewDisk(rec.trace)
		disk.Play(len(rec.trace) / 2)
		left := disk.Left(seeded(0, 1))
		assert.Contains(t, left, dbName)
		assert.Equal(t, left, disk.Left(seeded(0, 1)))
	})
}

// atLeast returns the flag's number, a part of it for what costs more, and in a
// short round that of the short round.
func atLeast(short, part int) int { return max(short, *cutsFlag/part) }

// A disk or a store that does what it must not has to be found out by the same
// cuts.
func TestPowerCutsFindWhoLoses(t *testing.T) {
	needs.Proof(t)
	n := atLeast(short.bad, 20)
	t.Run("no sync", func(t *testing.T) {
		rec := record(t, &powercut.Options{Swallow: func(string) bool { return true }}, false)
		got := rec.cut(t, 0, len(rec.trace), n)
		figure(t, "bad.no-sync", got.lost, "acknowledged writes lost")
		assert.Positive(t, got.lost)
	})
	t.Run("one sync less", func(t *testing.T) {
		got := record(t, nil, false).cutWithout(t, 2*n)
		figure(t, "bad.one-sync-less", got.lost, "acknowledged writes lost")
		assert.Positive(t, got.lost)
	})
	t.Run("acknowledged too early", func(t *testing.T) {
		rec := record(t, nil, true)
		got := rec.cut(t, 0, len(rec.trace), n)
		figure(t, "bad.late-commit", got.lost, "acknowledged writes lost")
		assert.Positive(t, got.lost)
	})
}

// cutWithout takes away one sync of the log, ten times another one behind which
// something is promised, and cuts the power n times in all between it and the
// next one. Not every one of them is missed: a promise may be late.
func (rec recorded) cutWithout(t *testing.T, n int) (all outcome) {
	t.Helper()
	const syncs = 10
	var places [][2]int // a sync, and the next one
	last, promised := -1, false
	for i, op := range rec.trace {
		switch {
		case op.Kind == powercut.Mark:
			promised = true
		case op.Kind == powercut.Sync && log(op.Name):
			if last >= 0 && promised {
				places = append(places, [2]int{last, i})
			}
			last, promised = i, false
		}
	}
	require.Greater(t, len(places), syncs)
	for i := range syncs {
		place := places[i*len(places)/syncs]
		bad := rec
		bad.trace = slices.Clone(rec.trace)
		bad.trace[place[0]].Before = 0 // it has synced nothing
		all.lost += bad.cut(t, place[0], place[1], n/syncs).lost
	}
	return all
}

// cutTwice cuts the power n times, records what opening the files then does to
// them and cuts each of these recoveries, as often as each says.
func (rec recorded) cutTwice(t *testing.T, n, each int) (all outcome) {
	t.Helper()
	disk := powercut.NewDisk(rec.trace)
	var acknowledged []int
	for i := range n {
		at := (i + 1) * len(rec.trace) / n
		for _, op := range rec.trace[disk.Played():at] {
			if op.Kind == powercut.Mark {
				acknowledged = append(acknowledged, op.Mark)
			}
		}
		disk.Play(at)
		dir := t.TempDir()
		require.NoError(t, disk.Cut(dir, seeded(at, 1)))
		r, err := powercut.Record(dir, nil)
		require.NoError(t, err)
		first := rec.examine(t.Context(), dir, acknowledged, false)
		recovery, err := r.Stop()
		require.NoError(t, err)
		require.NoError(t, errors.Join(first.broken...))

		again := recorded{trace: recovery, examine: func(ctx context.Context, dir string, _ []int, use bool) finding {
			return rec.examine(ctx, dir, acknowledged, use)
		}}
		got := again.cut(t, 0, len(recovery), min(len(recovery)+1, each))
		all.cuts += got.cuts
		all.lost += got.lost
		all.broken = append(all.broken, got.broken...)
		all.took = append(all.took, got.took...)
	}
	slices.Sort(all.took)
	return all
}
