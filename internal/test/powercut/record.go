package powercut

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Kind says what an operation does.
type Kind uint8

const (
	// Found: a file was there with its content when SQLite opened it. Both were on
	// disk before the trace begins.
	Found Kind = iota
	// Create: an empty file gets a name.
	Create
	// Delete: a name is gone.
	Delete
	// SyncDir: the names are on disk.
	SyncDir
	// Write: bytes of a file are replaced, or added.
	Write
	// Truncate: a file gets another size.
	Truncate
	// Sync: the content of a file is on disk.
	Sync
	// Mark: the test says something; see Recorder.Mark.
	Mark
)

// Op is one operation of a trace. It never changes.
type Op struct {
	Kind Kind
	// File is the number of the file. A file that is deleted and made again has a new
	// number. Not for SyncDir and Mark.
	File int
	// Name is the file's name, without the directory. Not for SyncDir and Mark.
	Name string
	// Offset is the position of Data; for Truncate it is the new size.
	Offset int64
	// Data is the written data, or the content of a file that was found.
	Data []byte
	// Before is for Sync and SyncDir: operations with a lower number are on disk;
	// operations during the sync need not be.
	Before int
	// Mark is the test's number.
	Mark int
}

// Trace has the operations, in order.
type Trace []Op

// Options of Record; nil is all zero values.
type Options struct {
	// Swallow makes a disk that lies: if it returns true for a file's name, the sync is
	// reported as done but is not. It is called at every sync, one at a time, and must
	// not call the recorder. Nil swallows nothing.
	Swallow func(name string) bool
}

// Recorder records what SQLite does to the files of one directory.
type Recorder struct {
	dir     string
	swallow func(string) bool
	shim    *shim

	mu    sync.Mutex
	ops   Trace
	names map[string]int // the files that have a name
	files int
	open  map[uintptr]*opened // by SQLite's address
}

// opened is a file as one connection has it open.
type opened struct {
	number int
	name   string
	// syncsDir: the next sync is one of the directory, too.
	syncsDir bool
}

// Record begins to record SQLite's operations in the directory. It replaces the default VFS
// of connections of this process. So there can be one recorder at a time, a second is an
// error, and connections opened before are not recorded. An existing file with content
// counts as on disk, an empty one as made now. Stop ends the recording.
func Record(dir string, o *Options) (*Recorder, error) {
	if o == nil {
		o = &Options{}
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // SQLite does
	}
	if err != nil {
		return nil, fmt.Errorf("powercut: %w", err)
	}
	r := &Recorder{dir: dir, swallow: o.Swallow, names: map[string]int{}, open: map[uintptr]*opened{}}
	if r.shim, err = install(r); err != nil {
		return nil, err
	}
	return r, nil
}

// Mark adds a number of the test to the trace. It is safe for concurrent use.
func (r *Recorder) Mark(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, Op{Kind: Mark, Mark: n})
}

// Stop ends the recording and returns the trace. Close all connections opened since Record
// first; the trace has the operations of these closes. While a connection in the directory
// is open, Stop fails and the recording continues.
func (r *Recorder) Stop() (Trace, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) > 0 {
		return nil, fmt.Errorf("powercut: %d files are still open; close the databases first", len(r.open))
	}
	r.shim.remove()
	return r.ops, nil
}

func (r *Recorder) now() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

func (r *Recorder) inside(path string) (string, bool) {
	dir, name := filepath.Split(path)
	return name, filepath.Clean(dir) == r.dir
}

// opened opens a file with open, and records it if it is in the directory.
func (r *Recorder) opened(path string, file uintptr, syncsDir bool, open func() bool) bool {
	name, ok := r.inside(path)
	if !ok {
		open()
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	number, known := r.names[name]
	var content []byte
	if !known {
		// Only if the process does not have it open: a close would end SQLite's locks.
		content, _ = os.ReadFile(path)
	}
	if !open() {
		return false
	}
	if !known {
		number = r.files
		r.files++
		r.names[name] = number
		op := Op{Kind: Create, File: number, Name: name}
		if len(content) > 0 {
			op.Kind, op.Data = Found, content
		}
		r.ops = append(r.ops, op)
	}
	r.open[file] = &opened{number: number, name: name, syncsDir: syncsDir}
	return true
}

func (r *Recorder) closed(file uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, file)
}

func (r *Recorder) deleted(path string, syncDir bool) {
	name, ok := r.inside(path)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	number, known := r.names[name]
	if !known {
		return // it had never been opened
	}
	delete(r.names, name)
	r.ops = append(r.ops, Op{Kind: Delete, File: number, Name: name})
	if syncDir {
		r.ops = append(r.ops, Op{Kind: SyncDir, Before: len(r.ops)})
	}
}

func (r *Recorder) wrote(file uintptr, offset int64, data []byte) {
	r.add(file, Op{Kind: Write, Offset: offset, Data: data})
}

func (r *Recorder) truncated(file uintptr, size int64) {
	r.add(file, Op{Kind: Truncate, Offset: size})
}

func (r *Recorder) add(file uintptr, op Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.open[file]
	op.File, op.Name = f.number, f.name
	r.ops = append(r.ops, op)
}

func (r *Recorder) swallows(file uintptr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.swallow != nil && r.swallow(r.open[file].name)
}

// synced records a sync that began when start was the next number.
func (r *Recorder) synced(file uintptr, start int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.open[file]
	r.ops = append(r.ops, Op{Kind: Sync, File: f.number, Name: f.name, Before: start})
	if f.syncsDir {
		r.ops = append(r.ops, Op{Kind: SyncDir, Before: start})
		f.syncsDir = false
	}
}
