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

// Disk is a disk whose cache is lost with the power. It plays a trace and shows at any time
// what would be left. One goroutine at a time may use it.
type Disk struct {
	trace Trace
	// done is the number of operations played.
	done  int
	files map[int]*file
	// names has the names on disk; changes has their cached changes, in order.
	names   map[string]int
	changes map[string][]change
}

// file is one file: its content on disk, and its cached operations.
type file struct {
	content []byte
	cached  []numbered
}

// numbered is an operation with its place in the trace.
type numbered struct {
	Op
	at int
}

// change is a change of a name: it now names the file, or none.
type change struct{ at, file int }

const none = -1

// NewDisk returns a disk before the trace, with the files that the recorder found.
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

// Left returns the files on the disk, by name, if the power fails now. rng decides which
// cached operations are on disk: sometimes all, sometimes none, mostly a part, in which
// later writes may come before earlier ones. A write may be on disk in part: some of its
// sectors or pages, or one sector with any content, if the power failed during its write.
// The same rng gives the same files. SQLite's shared memory file is missing. The caller owns
// the result.
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

// Cut writes the result of Left to dir, which must exist and be empty.
func (d *Disk) Cut(dir string, rng *rand.Rand) error {
	for name, content := range d.Left(rng) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("powercut: write what is left: %w", err)
		}
	}
	return nil
}

// left returns a possible content of the file. keep is the probability of each cached
// operation to be on disk.
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

// tear returns the content after an unfinished write: each of its sectors or pages is new,
// old or, seldom, neither.
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
