// Package lockedfile keeps a small mapping in a JSON file of its user, which several processes may
// change.
package lockedfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// File is a file with one JSON object, whose members are of type T. It is safe for concurrent use,
// also by several processes.
type File[T any] struct {
	// Path is the file; there need not be one yet.
	Path string
}

// Read returns the members; none without a file.
func (f File[T]) Read() (map[string]T, error) {
	members := map[string]T{}
	data, err := conffile.Read(f.Path, &conffile.Options{JSON: true, Private: true})
	if errors.Is(err, fs.ErrNotExist) {
		return members, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &members)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return members, nil
}

// Change reads the members under the file's lock, calls change, and writes what that has left. An
// interrupted write or a loss of power leaves the old file. After an error of change nothing is
// written, nor if Read would refuse what is written, because it is too long or too deep.
func (f File[T]) Change(change func(members map[string]T) error) (err error) {
	lock := flock.New(f.Path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	members, err := f.Read()
	if err == nil {
		err = change(members)
	}
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(members, "", "  ")
	if err != nil {
		return err
	}
	tmp := f.Path + ".new"
	if err := writeSynced(tmp, append(data, '\n')); err != nil {
		return err
	}
	if _, err := (File[T]{tmp}).Read(); err != nil {
		return errors.Join(fmt.Errorf("it would not be readable: %w", err), os.Remove(tmp))
	}
	return os.Rename(tmp, f.Path)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
