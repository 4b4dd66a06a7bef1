package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/internal/jail"
	"github.com/grapnel-go/grapnel/internal/privatedir"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
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
	d.prune(time.Now().Add(-kept))
	return d, nil
}

// prune removes what nobody has used for long: temporary files one by one, and whole layers that no process holds. What cannot be
// removed stays.
func (d dirs) prune(before time.Time) {
	old := func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.ModTime().Before(before)
	}
	for _, dir := range []string{d.temp, d.quarantine} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); old(path) {
				_ = removeAll(path)
			}
		}
	}
	slots, _ := filepath.Glob(filepath.Join(d.layers, "*"))
	for _, dir := range slots {
		lock := flock.New(filepath.Join(dir, "lock"))
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		for _, c := range tools.Caches() { // a program may have been killed between a mount and its OpenWork
			jail.OpenWork(filepath.Join(dir, c.Name, "work"))
		}
		if _, err := os.Lstat(filepath.Join(dir, seenFile)); err == nil {
			_ = lock.Unlock()
			continue // its program was killed: see recover
		}
		layers, _ := filepath.Glob(filepath.Join(dir, "*", "upper"))
		if strings.HasPrefix(filepath.Base(dir), "extra-") || len(layers) > 0 && !slices.ContainsFunc(layers, func(p string) bool { return !old(p) }) {
			_ = removeAll(dir)
		}
		_ = lock.Unlock()
	}
}

// removeAll removes a directory with all below it, also directories that their owner may not read or change, such as those of Go's
// module cache. It follows no link.
func removeAll(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), filepath.Base(path), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// maxSlots bounds the sets of layers of a project.
const maxSlots = 8

// slot is a set of writable layers that one process uses alone: two processes with the same layer would see each other's changes
// in part.
type slot struct {
	dir  string
	lock *flock.Flock
	once bool // it ends with the process
	kept bool // it has a seenFile of this process
}

// take returns a set of layers that no process uses: the first for a command, so that the next one finds what it has built; the last
// for a process that lasts. If all are used it makes one that ends with the process.
func (d dirs) take(lasting bool) (*slot, error) {
	for i := range maxSlots {
		if lasting {
			i = maxSlots - 1 - i
		}
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
	s := &slot{dir: dir, lock: flock.New(filepath.Join(dir, "lock")), once: true}
	_, err = s.lock.TryLock()
	return s, err
}

// free gives the layers back. What the kernel leaves in each that it has mounted goes: it says that the layer was not given back.
func (s *slot) free() {
	if s == nil {
		return
	}
	for _, c := range tools.Caches() {
		_ = removeAll(s.mark(c.Name))
	}
	if s.kept {
		_ = os.Remove(s.seen())
	}
	if s.once {
		_ = removeAll(s.dir)
	}
	_ = s.lock.Unlock()
}

// seenFile is, in a slot, what was in the project when its command began.
const seenFile = "seen.json"

func (s *slot) seen() string { return filepath.Join(s.dir, seenFile) }

// layer returns the directories of the layer of a cache, which take has made.
func (s *slot) layer(name string) (upper, work string) {
	return filepath.Join(s.dir, name, "upper"), filepath.Join(s.dir, name, "work")
}

// mark is a directory of the kernel's that is there while the layer is mounted, and afterwards until it is given back.
func (s *slot) mark(name string) string {
	_, work := s.layer(name)
	return filepath.Join(work, "work")
}

// makeLayers makes the directories of all layers. The kernel is told not to write layers to the disk by itself: it would write
// everything that is not written yet, of all programs, whenever a command ends. So a layer that was not given back, after a crash, may
// have half of a file in it, and begins anew.
func (s *slot) makeLayers() error {
	for _, c := range tools.Caches() {
		upper, work := s.layer(c.Name)
		var err error
		if _, missing := os.Lstat(s.mark(c.Name)); missing == nil {
			err = errors.Join(removeAll(upper), removeAll(work))
		}
		if err = errors.Join(err, os.MkdirAll(upper, 0o700), os.MkdirAll(work, 0o700)); err != nil {
			return fmt.Errorf("layer of the cache %s: %w", c.Name, err)
		}
	}
	return nil
}
