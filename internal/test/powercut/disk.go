package powercut

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Borders at which a write is torn, in bytes.
const (
	sector = 512
	page   = 4096
)

// Disk is a disk with a cache that is lost with the power. It plays a trace and
// tells at any time what would be left. One goroutine at a time.
type Disk struct {
	trace Trace
	// done is the number of operations played.
	done  int
	files map[int]*file
	// names are those on disk; changes are what has happened to each since, in
	// order.
	names   map[string]int
	changes map[string][]change
}

// file is one file: what of it is on disk, and what only the cache has.
type file struct {
	content []byte
	cached  []numbered
}

// numbered is an operation with its place in the trace.
type numbered struct {
	Op
	at int
}

// change is what happened to a name: it stands for the file, or for none.
type change struct{ at, file int }

const none = -1

// NewDisk returns a disk on which nothing of the trace has happened: it holds the
// files that the recorder found.
func NewDisk(t Trace) *Disk {
	d := &Disk{trace: t, files: map[int]*file{}, names: map[string]int{}, changes: map[string][]change{}}
	for _, op := range t {
		if op.Kind == Found {
			d.files[op.File] = &file{content: bytes.Clone(op.Data)}
			d.names[op.Name] = op.File
		}
	}
	return d
}

// Play plays the trace up to, not including, operation n, which is not before the
// last one played.
func (d *Disk) Play(n int) {
	for ; d.done < n; d.done++ {
		d.play(d.trace[d.done])
	}
}

// Played is the number of operations that have happened.
func (d *Disk) Played() int { return d.done }

func (d *Disk) play(op Op) {
	f := d.files[op.File]
	switch op.Kind {
	case Create:
		d.files[op.File] = &file{}
		d.changes[op.Name] = append(d.changes[op.Name], change{d.done, op.File})
	case Delete:
		d.changes[op.Name] = append(d.changes[op.Name], change{d.done, none})
	case SyncDir:
		for name, cs := range d.changes {
			n := sortedBefore(cs, op.Before, func(c change) int { return c.at })
			rename(d.names, name, cs[:n])
			d.changes[name] = cs[n:]
		}
	case Write, Truncate:
		f.cached = append(f.cached, numbered{op, d.done})
	case Sync:
		n := sortedBefore(f.cached, op.Before, func(c numbered) int { return c.at })
		for _, c := range f.cached[:n] {
			f.content = c.apply(f.content)
		}
		f.cached = f.cached[n:]
	case Found, Mark:
	}
}

// sortedBefore returns how many of the elements have a place before the limit.
func sortedBefore[E any](s []E, limit int, place func(E) int) int {
	n, _ := slices.BinarySearchFunc(s, limit, func(e E, limit int) int { return place(e) - limit })
	return n
}

// rename makes the changes to a name.
func rename(names map[string]int, name string, cs []change) {
	for _, c := range cs {
		if names[name] = c.file; c.file == none {
			delete(names, name)
		}
	}
}

// apply returns the content after the operation, in the same memory where it is
// large enough.
func (op Op) apply(content []byte) []byte {
	if op.Kind == Truncate {
		return resized(content, int(op.Offset))
	}
	return replaced(content, op.Offset, op.Data)
}

func resized(content []byte, size int) []byte {
	if size <= len(content) {
		return content[:size]
	}
	n := len(content)
	content = slices.Grow(content, size-n)[:size]
	clear(content[n:])
	return content
}

func replaced(content []byte, offset int64, data []byte) []byte {
	content = resized(content, max(len(content), int(offset)+len(data)))
	copy(content[offset:], data)
	return content
}

// Left returns what the disk holds, by name, if the power fails now. What is in
// the cache only is there or not as rng will have it: sometimes all of it,
// sometimes nothing, mostly a part, in which later writes may have gone before
// earlier ones. Of a write that is not there as a whole a part may be: sectors or
// pages of it, or, where the power failed while a sector was written, one with
// anything in it. The same rng makes the same files. The file with which SQLite
// shares memory is not there. The caller owns the result.
func (d *Disk) Left(rng *rand.Rand) map[string][]byte {
	keep := []float64{0, 0.1, 0.5, 0.9, 1}[rng.IntN(5)]
	names := maps.Clone(d.names)
	for _, name := range slices.Sorted(maps.Keys(d.changes)) {
		cs := d.changes[name]
		n := 0
		for n < len(cs) && rng.Float64() < keep {
			n++
		}
		rename(names, name, cs[:n])
	}
	left := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		left[name] = d.files[names[name]].left(keep, rng)
	}
	return left
}

// Cut writes what is left if the power fails now to the directory, which is there
// and empty; see Left.
func (d *Disk) Cut(dir string, rng *rand.Rand) error {
	for name, content := range d.Left(rng) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("powercut: write what is left: %w", err)
		}
	}
	return nil
}

// left returns what may be left of the file, of whose cached operations each is
// kept with the probability.
func (f *file) left(keep float64, rng *rand.Rand) []byte {
	content := bytes.Clone(f.content)
	for _, c := range f.cached {
		switch {
		case rng.Float64() < keep:
			content = c.apply(content)
		case keep > 0 && c.Kind == Write && rng.IntN(2) == 0:
			content = c.tear(content, rng)
		}
	}
	return content
}

// tear returns the content after a write that was not finished: of the sectors or
// pages that it covers each is new, old or, seldom, neither.
func (op Op) tear(content []byte, rng *rand.Rand) []byte {
	unit := int64(sector)
	if rng.IntN(4) == 0 {
		unit = page
	}
	end := op.Offset + int64(len(op.Data))
	for from := op.Offset; from < end; {
		to := min(end, from-from%unit+unit)
		switch n := rng.IntN(16); {
		case n == 0:
			content = replaced(content, from, noise(int(to-from), rng))
		case n < 9:
			content = replaced(content, from, op.Data[from-op.Offset:to-op.Offset])
		}
		from = to
	}
	return content
}

func noise(n int, rng *rand.Rand) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(rng.Uint32())
	}
	return out
}
