package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// shim is a VFS in front of SQLite's own one: it passes every call on, and reports changes to
// the recorder. SQLite gets C memory that points to Go functions; funcs keeps these alive.
type shim struct {
	r    *Recorder
	tls  *libc.TLS
	real uintptr
	// vfs is a copy of real with another name and two functions of ours.
	vfs uintptr

	mu sync.Mutex
	// methods has, for a table of functions that real gives to a file, the copy
	// with ours.
	methods map[uintptr]uintptr
	funcs   []any
	memory  []uintptr
}

const shimName = "powercut"

type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
	writeFunc    = func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
)

func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function returns the Go function behind one of SQLite's function pointers,
// which are Go's func values as a number.
func function[F any](pointer uintptr) F { return *(*F)(unsafe.Pointer(&pointer)) }

// pointer is the opposite of function. The function lives as long as the shim.
func pointer[F any](s *shim, f F) uintptr {
	s.funcs = append(s.funcs, f)
	return *(*uintptr)(unsafe.Pointer(&f))
}

// install makes a shim the default VFS of new connections.
func install(r *Recorder) (*shim, error) {
	s := &shim{r: r, tls: libc.NewTLS(), methods: map[uintptr]uintptr{}}
	if s.real = sqlite3.Xsqlite3_vfs_find(s.tls, 0); s.real == 0 {
		s.tls.Close()
		return nil, errors.New("powercut: SQLite has no VFS on this system")
	}
	if libc.GoString(at[sqlite3.Tsqlite3_vfs](s.real).FzName) == shimName {
		s.tls.Close()
		return nil, errors.New("powercut: another recorder has not stopped yet")
	}
	name, err := libc.CString(shimName)
	if err != nil {
		s.tls.Close()
		return nil, fmt.Errorf("powercut: %w", err)
	}
	s.memory = append(s.memory, name)
	s.vfs = s.alloc(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{}))
	vfs := at[sqlite3.Tsqlite3_vfs](s.vfs)
	*vfs = *at[sqlite3.Tsqlite3_vfs](s.real)
	vfs.FzName = name
	vfs.FxOpen = pointer[openFunc](s, s.open)
	vfs.FxDelete = pointer[deleteFunc](s, s.delete)
	if rc := sqlite3.Xsqlite3_vfs_register(s.tls, s.vfs, 1); rc != sqlite3.SQLITE_OK {
		s.free()
		return nil, fmt.Errorf("powercut: register a VFS: code %d", rc)
	}
	return s, nil
}

// remove restores the default VFS. No connection of the shim may be open.
func (s *shim) remove() {
	sqlite3.Xsqlite3_vfs_unregister(s.tls, s.vfs)
	sqlite3.Xsqlite3_vfs_register(s.tls, s.real, 1)
	s.free()
}

func (s *shim) alloc(n uintptr) uintptr {
	p := libc.Xmalloc(s.tls, libc.Tsize_t(n))
	if p == 0 {
		panic("powercut: out of memory")
	}
	s.memory = append(s.memory, p)
	return p
}

func (s *shim) free() {
	for _, p := range s.memory {
		libc.Xfree(s.tls, p)
	}
	s.tls.Close()
}

func (s *shim) open(tls *libc.TLS, _, name, file uintptr, flags int32, outFlags uintptr) int32 {
	rc := int32(sqlite3.SQLITE_OK)
	open := func() bool {
		real := at[sqlite3.Tsqlite3_vfs](s.real)
		rc = function[openFunc](real.FxOpen)(tls, s.real, name, file, flags, outFlags)
		return rc == sqlite3.SQLITE_OK
	}
	if name == 0 { // a temporary file
		open()
		return rc
	}
	// SQLite syncs the directory with the first sync of a journal that it may have
	// made, as unixOpen and unixSync do.
	const journals = sqlite3.SQLITE_OPEN_WAL | sqlite3.SQLITE_OPEN_MAIN_JOURNAL | sqlite3.SQLITE_OPEN_SUPER_JOURNAL
	syncsDir := flags&sqlite3.SQLITE_OPEN_CREATE != 0 && flags&journals != 0
	if s.r.opened(libc.GoString(name), file, syncsDir, open) {
		f := at[sqlite3.Tsqlite3_file](file)
		f.FpMethods = s.watched(f.FpMethods)
	}
	return rc
}

func (s *shim) delete(tls *libc.TLS, _, name uintptr, syncDir int32) int32 {
	rc := function[deleteFunc](at[sqlite3.Tsqlite3_vfs](s.real).FxDelete)(tls, s.real, name, syncDir)
	if rc == sqlite3.SQLITE_OK {
		s.r.deleted(libc.GoString(name), syncDir != 0)
	}
	return rc
}

// watched returns a copy of a table of functions that reports to the recorder.
func (s *shim) watched(table uintptr) uintptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if copied, ok := s.methods[table]; ok {
		return copied
	}
	p := s.alloc(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{}))
	real, m := *at[sqlite3.Tsqlite3_io_methods](table), at[sqlite3.Tsqlite3_io_methods](p)
	*m = real
	m.FxClose = pointer[closeFunc](s, func(tls *libc.TLS, file uintptr) int32 {
		s.r.closed(file)
		return function[closeFunc](real.FxClose)(tls, file)
	})
	m.FxWrite = pointer[writeFunc](s, func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
		rc := function[writeFunc](real.FxWrite)(tls, file, data, n, offset)
		if rc == sqlite3.SQLITE_OK {
			s.r.wrote(file, offset, bytes.Clone(unsafe.Slice(at[byte](data), n)))
		}
		return rc
	})
	m.FxTruncate = pointer[truncateFunc](s, func(tls *libc.TLS, file uintptr, size int64) int32 {
		rc := function[truncateFunc](real.FxTruncate)(tls, file, size)
		if rc == sqlite3.SQLITE_OK {
			s.r.truncated(file, size)
		}
		return rc
	})
	m.FxSync = pointer[syncFunc](s, func(tls *libc.TLS, file uintptr, flags int32) int32 {
		start := s.r.now()
		if s.r.swallows(file) {
			return sqlite3.SQLITE_OK
		}
		rc := function[syncFunc](real.FxSync)(tls, file, flags)
		if rc == sqlite3.SQLITE_OK {
			s.r.synced(file, start)
		}
		return rc
	})
	s.methods[table] = p
	return p
}
