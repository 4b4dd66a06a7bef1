package access

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/grapnel-go/grapnel/internal/lockedfile"
)

// file is a Store in a file, which it reads again when it has changed.
type file struct {
	lockedfile.File[Token]

	mu    sync.Mutex
	read  fs.FileInfo // of the file when known was read; nil if there was none
	known map[string]Token
}

// Find implements [Store].
func (f *file) Find(id string) (Token, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Token{}, false, err
	}
	if !sameFile(info, f.read) {
		known, err := f.Read()
		if err != nil {
			return Token{}, false, err
		}
		f.known, f.read = known, info
	}
	token, ok := f.known[id]
	return token, ok, nil
}

// sameFile reports whether a file has not changed. Who changes it replaces it.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
