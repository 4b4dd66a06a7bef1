package approval

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// Document is a remembered answer as a [Store] keeps it.
type Document struct {
	// Project is the project of the answer. A store that keeps no projects leaves it empty.
	Project string
	// Name is unique in the store; it ends with .json.
	Name string
	// JSON is the answer; Err is why it cannot be read.
	JSON []byte
	Err  error
}

// Store keeps the answers that outlive a conversation. Several processes may use it at the same time.
// It is safe for concurrent use.
type Store interface {
	// Read returns the document; nil if there is none.
	Read(project, name string) ([]byte, error)
	// Write keeps the document in place of the one of its name. When it returns, a loss of power
	// leaves it.
	Write(d Document) error
	// All returns the documents of all projects.
	All() ([]Document, error)
	// Remove removes the document; a missing one is no error.
	Remove(d Document) error
}

// Dir is a Store in a directory, with a file for each answer, which people may read and delete. The
// first Write makes the directory.
type Dir string

var _ Store = Dir("")

// Read implements [Store].
func (d Dir) Read(_, name string) ([]byte, error) {
	path := filepath.Join(string(d), name)
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
func (d Dir) Write(doc Document) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(string(d), ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(doc.JSON)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(string(d), doc.Name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(string(d))
}

// All implements [Store]. A missing directory has none.
func (d Dir) All() ([]Document, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Document
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			data, err := d.Read("", name)
			out = append(out, Document{Name: name, JSON: data, Err: err})
		}
	}
	return out, nil
}

// Remove implements [Store].
func (d Dir) Remove(doc Document) error {
	if err := os.Remove(filepath.Join(string(d), doc.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(string(d))
}

// maxRule limits the size of a rule's file, in bytes. It may have the arguments of a call.
const maxRule = 16 << 20

// reason is an error of a file without its path.
type reason struct{ error }

func (r reason) Error() string { return conffile.Reason(r.error) }

func (r reason) Unwrap() error { return r.error }
