package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/internal/privatedir"
)

// dirs are the sandbox's own directories for one project.
type dirs struct {
	// state has all of them. base is where roots are mounted, temp is /tmp of the project's processes, layers has the writable layers
	// of caches, quarantine what was moved out of the project.
	state, base, temp, layers, quarantine string
}

// kept is how long a temporary file or a layer stays that nobody has used.
const kept = 14 * 24 * time.Hour

func openDirs(state, project string) (dirs, error) {
	sum := sha256.Sum256([]byte(project))
	own := filepath.Join(state, hex.EncodeToString(sum[:8]))
	d := dirs{
		state: state, base: filepath.Join(state, "root"), temp: filepath.Join(own, "tmp"), layers: filepath.Join(own, "layers"),
		quarantine: filepath.Join(own, "quarantine"),
	}
	for _, dir := range []string{state, d.base, own, d.temp, d.layers, d.quarantine} {
		if err := privatedir.Make(dir); err != nil {
			return dirs{}, err
		}
	}
	return d, nil
}

// maxSlots bounds the sets of layers of a project.
const maxSlots = 8

// slot is a set of writable layers that one process uses alone: two processes with the same layer would see each other's changes
// in part.
type slot struct {
	dir  string
	lock *flock.Flock
}

// take returns the first set of layers that no process uses. If all are used it makes one that ends with the process.
func (d dirs) take() (*slot, error) {
	for i := range maxSlots {
		dir := filepath.Join(d.layers, strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		lock := flock.New(filepath.Join(dir, "lock"))
		free, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		if free {
			return &slot{dir: dir, lock: lock}, nil
		}
	}
	dir, err := os.MkdirTemp(d.layers, "extra-")
	if err != nil {
		return nil, err
	}
	return &slot{dir: dir}, nil
}

// free gives the layers back.
func (s *slot) free() {
	if s == nil {
		return
	}
	if s.lock == nil {
		_ = os.RemoveAll(s.dir)
		return
	}
	_ = s.lock.Unlock()
}

// layer returns the directories of the layer of a cache, which take has made.
func (s *slot) layer(name string) (upper, work string) {
	return filepath.Join(s.dir, name, "upper"), filepath.Join(s.dir, name, "work")
}

// makeLayers makes the directories of all layers.
func (s *slot) makeLayers() error {
	for _, c := range caches() {
		upper, work := s.layer(c.name)
		for _, dir := range []string{upper, work} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return fmt.Errorf("layer of the cache %s: %w", c.name, err)
			}
		}
	}
	return nil
}
