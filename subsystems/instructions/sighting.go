package instructions

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// sighting says how a place looked, a moment before its file was read. A file that is
// written after that looks different the next time.
type sighting struct {
	name string
	info fs.FileInfo // nil: err
	err  string
	// fresh: the file had just changed. Clocks of file systems tick slowly, so another
	// change may have left the same time: such a file is read again.
	fresh bool
}

// freshFor is longer than the ticks of usual file systems; FAT has two seconds.
const freshFor = 3 * time.Second

func look(root *os.Root, name string, now time.Time) sighting {
	s := sighting{name: name}
	info, err := root.Stat(name)
	if err != nil {
		s.err = missing
		if !errors.Is(err, fs.ErrNotExist) {
			s.err = err.Error()
		}
		return s
	}
	s.info = info
	s.fresh = now.Sub(info.ModTime()) < freshFor || now.Sub(changedAt(info)) < freshFor
	return s
}

// missing stands for every error of a file that does not exist.
const missing = "missing"

// unchanged reports whether all places look as before.
func unchanged(root *os.Root, before []sighting) bool {
	for _, s := range before {
		if s.fresh || !s.same(look(root, s.name, time.Time{})) {
			return false
		}
	}
	return true
}

func (s sighting) same(other sighting) bool {
	if s.info == nil || other.info == nil {
		return s.info == nil && other.info == nil && s.err == other.err
	}
	return os.SameFile(s.info, other.info) && s.info.Size() == other.info.Size() && s.info.Mode() == other.info.Mode() &&
		s.info.ModTime().Equal(other.info.ModTime()) && changedAt(s.info).Equal(changedAt(other.info))
}
