package approval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// Store keeps the answers that outlive a conversation: JSON documents, each under a name that is unique
// in its project. Several processes may use it at the same time. It is safe for concurrent use.
type Store interface {
	// Read returns the document; nil if there is none.
	Read(project, name string) ([]byte, error)
	// Write keeps the document in place of the one of its name. When it returns, a loss of power
	// leaves it.
	Write(project, name string, document []byte) error
	// Remove removes the document; a missing one is no error.
	Remove(project, name string) error
	// Each calls f with the documents of all projects; err is why one cannot be read. A store that keeps
	// no projects gives "" for them. f does not use the store.
	Each(f func(project, name string, document []byte, err error)) error
}

// Dir is a Store in a directory, with a file for each answer, which people may read and delete. The
// first Write makes the directory.
type Dir string

var _ Store = Dir("")

// Read implements [Store].
func (d Dir) Read(_, name string) ([]byte, error) {
	path, err := d.file(name)
	if err != nil {
		return nil, err
	}
	data, err := conffile.Read(path, &conffile.Options{Max: maxRule, Within: string(d), JSON: true, Private: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, reason{err}
	}
	return data, nil
}

// Write implements [Store].
func (d Dir) Write(_, name string, document []byte) error {
	path, err := d.file(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(string(d), ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(document)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(string(d))
}

// Each implements [Store]. A missing directory has none.
func (d Dir) Each(f func(project, name string, document []byte, err error)) error {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && isFile(name) {
			data, err := d.Read("", name)
			f("", name, data, err)
		}
	}
	return nil
}

// Remove implements [Store].
func (d Dir) Remove(_, name string) error {
	path, err := d.file(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(string(d))
}

// isFile reports whether a name is one of a document: it names no other directory, and nothing that is being written.
func isFile(name string) bool {
	return filepath.Base(name) == name && strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".")
}

// file returns the path of a document. Names come from databases, too, when these are copied to files.
func (d Dir) file(name string) (string, error) {
	if !isFile(name) {
		return "", fmt.Errorf("%.80q is no name of a remembered answer", name)
	}
	return filepath.Join(string(d), name), nil
}

// maxRule limits the size of a rule's file, in bytes. It may have the arguments of a call.
const maxRule = 16 << 20

// reason is an error of a file without its path.
type reason struct{ error }

func (r reason) Error() string { return conffile.Reason(r.error) }

func (r reason) Unwrap() error { return r.error }
