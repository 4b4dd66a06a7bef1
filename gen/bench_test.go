package gen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// BenchmarkRun generates for modules of 1, 10 and 100 packages: cold is an empty tree, in which nothing is generated yet, warm one that
// is up to date and is only compared. ns/op is hookgen's alone, within the process and with main's setting of the collector.
//
// x-list is hookgen's time over that of the least that a generator in this place can do: one go list of the packages with all that they
// import and the export data. It runs in turn with hookgen, on the complete and compiled tree, so that the two meet the same load.
// peak-MB is the most that objects of the heap took, asked for every half millisecond.
func BenchmarkRun(b *testing.B) {
	for _, packages := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(packages), func(b *testing.B) {
			dir := benchModule(b, packages)
			for _, cold := range []bool{true, false} {
				name := "warm"
				if cold {
					name = "cold"
				}
				b.Run(name, func(b *testing.B) { benchRun(b, dir, cold) })
			}
		})
	}
}

func benchRun(b *testing.B, dir string, cold bool) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	b.ReportAllocs()
	var listed, ran time.Duration
	var most uint64
	for b.Loop() {
		b.StopTimer()
		listed += limit(b, dir)
		if cold {
			removeOutputs(b, dir)
		}
		runtime.GC()
		peak := peakHeap()
		start := time.Now()
		b.StartTimer()
		result, err := gen.Run(b.Context(), gen.Options{Dir: dir, Check: !cold})
		b.StopTimer()
		ran += time.Since(start)
		most = max(most, peak())
		require.NoError(b, err)
		require.Empty(b, result.Problems)
		require.Equal(b, cold, len(result.Changes) > 0)
		b.StartTimer()
	}
	b.ReportMetric(float64(ran)/float64(listed), "x-list")
	b.ReportMetric(float64(most)/1e6, "peak-MB")
}

// BenchmarkCheckThisRepository compares what is generated in this repository, as make generated does.
func BenchmarkCheckThisRepository(b *testing.B) {
	for b.Loop() {
		result, err := gen.Run(b.Context(), gen.Options{Dir: "..", Check: true})
		require.NoError(b, err)
		require.False(b, diag.HasErrors(result.Problems))
	}
}

// limit runs what is the limit of every generator here and returns how long it takes.
func limit(b *testing.B, dir string) time.Duration {
	b.Helper()
	start := time.Now()
	out, err := command(b.Context(), dir, "go", "list", "-e", "-deps", "-export", "-json=ImportPath,Dir,GoFiles,Imports,Export,Module", "./...")
	require.NoError(b, err, out)
	return time.Since(start)
}

// peakHeap samples the size of the heap's objects; the returned function ends that and says the most that was seen.
func peakHeap() func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		tick := time.NewTicker(time.Millisecond / 2)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				most <- peak
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}

// benchModule writes a module, generates for it and compiles it. Of ten packages nine have a subsystem with three tools and the last a
// composite of these.
func benchModule(b *testing.B, packages int) string {
	b.Helper()
	dir := newModule(b)
	for i := range packages {
		if i%10 != 9 {
			name := fmt.Sprintf("sub%d", i)
			write(b, dir, name+"/"+name+".go", strings.ReplaceAll(benchSubsystem, "SUB", name))
			continue
		}
		var imports, fields strings.Builder
		for of := i - 9; of < i; of++ {
			fmt.Fprintf(&imports, "\t\"%s/sub%d\"\n", module, of)
			fmt.Fprintf(&fields, "\tSub%d *sub%d.Notes\n", of, of)
		}
		text := "// Package app%[1]d joins nine subsystems.\npackage app%[1]d\n\nimport (\n%[2]s)\n\n" +
			"// App joins them.\n//\n//hook:composite\ntype App struct {\n%[3]s}\n"
		write(b, dir, fmt.Sprintf("app%[1]d/app%[1]d.go", i), fmt.Sprintf(text, i, imports.String(), fields.String()))
	}
	result, err := gen.Run(b.Context(), gen.Options{Dir: dir})
	require.NoError(b, err)
	require.Empty(b, result.Problems)
	require.Len(b, result.Changes, packages)
	out, err := command(b.Context(), dir, "go", "build", "./...")
	require.NoError(b, err, out)
	return dir
}

func removeOutputs(b *testing.B, dir string) {
	b.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", load.Output))
	require.NoError(b, err)
	for _, name := range names {
		require.NoError(b, os.Remove(name))
	}
}

const benchSubsystem = `// Package SUB keeps notes.
package SUB

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Notes is a subsystem that keeps notes.
//
//hook:subsystem prefix=SUB_
type Notes struct {
	hook.Nop
	mu    sync.Mutex
	notes []Note
}

// Kind is what a note is for.
//
//hook:enum
type Kind string

// The kinds.
const (
	Task Kind = "task"
	Idea Kind = "idea"
)

// Note is one of them.
type Note struct {
	// Text of the note.
	Text string ` + "`json:\"text\" hook:\"minlen=1\"`" + `
	// Kind of the note.
	Kind Kind ` + "`json:\"kind\"`" + `
	// Tags to find it by.
	Tags []string ` + "`json:\"tags,omitempty\"`" + `
	// Due is when it must be done.
	Due *time.Time ` + "`json:\"due,omitempty\"`" + `
}

// Range says which notes are meant.
type Range struct {
	// From is the first one, counted from 0.
	From int ` + "`json:\"from\" hook:\"min=0\"`" + `
	// Count is how many.
	Count int ` + "`json:\"count\" hook:\"min=1,max=100\"`" + `
}

var errNone = errors.New("there are no such notes")

// Add adds a note.
//
//hook:tool
func (n *Notes) Add(_ context.Context, in Note) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, in)
	return "added", nil
}

// List returns notes.
//
//hook:tool readonly
func (n *Notes) List(_ context.Context, in Range) ([]Note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if in.From+in.Count > len(n.notes) {
		return nil, errNone
	}
	return n.notes[in.From : in.From+in.Count], nil
}

// Delete deletes notes.
//
//hook:tool destructive
func (n *Notes) Delete(_ context.Context, in Range) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if in.From+in.Count > len(n.notes) {
		return errNone
	}
	n.notes = append(n.notes[:in.From], n.notes[in.From+in.Count:]...)
	return nil
}

// OnClose forgets nothing.
func (n *Notes) OnClose(context.Context) error { return nil }
`
