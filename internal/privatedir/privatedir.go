// Package privatedir makes directories that are for the user alone, such as those of the
// socket and of the state, and finds out whether they are: whoever can write there, or
// replace them, can answer approvals in the user's place.
package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Make makes the directory with those above it that are missing, for the user alone, and
// checks it as [Check] does.
func Make(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Check(dir)
}

// Check returns an error unless the directory belongs to the user, is open to nobody else,
// and nobody but the user and root can replace it or one above it. It may be reached
// through links if nobody else can replace those. Where files have no owner and mode it
// checks nothing.
func Check(dir string) error {
	if err := checkAbove(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case !owned(info):
		return fmt.Errorf("%s belongs to another user", dir)
	case loose(info) != 0:
		return fmt.Errorf("%s is %w (mode %04o); chmod 700 it", dir, errOpen, info.Mode().Perm())
	}
	return nil
}

// errOpen: others can read or write the directory.
var errOpen = errors.New("open to others")

// Repair is [Make] for a directory of the program's own. One that is the user's but open
// to others is closed, and note says so. If others could write to it and something in it
// is not the user's, that is an error.
func Repair(dir string) (note string, err error) {
	if err := Make(dir); !errors.Is(err, errOpen) {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", fmt.Errorf("close %s to others: %w", dir, err)
	}
	if err := Check(dir); err != nil {
		return "", err
	}
	note = fmt.Sprintf("%s was open to others (mode %04o); it is closed now (0700)", dir, info.Mode().Perm())
	if info.Mode().Perm()&0o022 == 0 {
		return note, nil
	}
	return note + ", and everything in it is yours", strangers(dir)
}

// strangers returns an error if something below dir is not the user's alone.
func strangers(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !owned(info) || d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("others could write to %s, and %s is a link or belongs to somebody else; look through the directory and move away what is not yours", dir, path)
		}
		return nil
	})
}

// checkAbove looks at every directory above, on the way as it is written and on the one
// behind links.
func checkAbove(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return err
	}
	for _, path := range []string{abs, real} {
		for path != filepath.Dir(path) {
			path = filepath.Dir(path)
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if replaceable(info) {
				return fmt.Errorf("others can replace %s, because %s (mode %04o) is theirs or open to them; choose a place that only you can write to", dir, path, info.Mode().Perm())
			}
		}
	}
	return nil
}
