package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Erase deletes what sandboxes keep of a project in the directory of [Options.State]: temporary
// files, the layers of caches, and what was moved out of the project. It returns how many bytes
// these had. With dry it only counts. It is an error, and nothing is deleted, while a process uses
// a layer of the project. A missing directory has nothing.
func Erase(state, project string, dry bool) (freed int64, err error) {
	sum := sha256.Sum256([]byte(project))
	own := filepath.Join(state, hex.EncodeToString(sum[:8]))
	if _, err := os.Lstat(own); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	slots, err := filepath.Glob(filepath.Join(own, "layers", "*"))
	if err != nil {
		return 0, err
	}
	for _, dir := range slots {
		lock := flock.New(filepath.Join(dir, "lock"))
		free, err := lock.TryLock()
		if err != nil {
			return 0, err
		}
		if !free {
			return 0, fmt.Errorf("a command still uses %s; end it first", dir)
		}
		defer func() { _ = lock.Unlock() }()
	}
	err = filepath.WalkDir(own, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if info, err := d.Info(); err == nil {
			freed += info.Size()
		}
		return nil
	})
	if err == nil && !dry {
		err = removeAll(own)
	}
	return freed, err
}
