// Package privatedir makes and checks directories for the user alone, such as those of the
// socket and of the state. Another user who can write there, or replace them, could answer
// approvals.
package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Make makes the directory and missing ones above it, for the user alone, and checks it
// like [Check].
func Make(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Check(dir)
}

// Check returns an error unless the directory belongs to the user, is closed to all others,
// and only the user and root can replace it, a directory above it, or a link on the way to
// it. On systems without owners and modes it checks nothing.
func Check(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err // do not say whether others could make it
	}
	info, err := follow(dir)
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

// Repair is [Make] for a directory of the program. If the directory belongs to the user but
// is open to others, Repair closes it, and note says so. If others could write to it, and
// it has a link or a file of another user, Repair returns an error instead.
func Repair(dir string) (note string, err error) {
	if err := Make(dir); !errors.Is(err, errOpen) {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	note = fmt.Sprintf("%s was open to others (mode %04o); it is closed now (0700)", dir, info.Mode().Perm())
	if info.Mode().Perm()&0o022 != 0 {
		if err := lookThrough(dir); err != nil {
			return "", err
		}
		note += ", and everything in it is yours"
	}
	if err := chmod(dir, 0o700); err != nil {
		return "", err
	}
	return note, Check(dir)
}

// closing is a mode that keeps others out, because x is missing, but still marks that they
// could write. If a start is killed during the search, the next one searches again.
const closing fs.FileMode = 0o722

// lookThrough returns an error if the directory, to which others can write, has foreign
// files. It looks before it changes the mode, so that a refusal changes nothing, and again
// when others cannot add files any more.
func lookThrough(dir string) error {
	if err := strangers(dir); err != nil {
		return err
	}
	if err := chmod(dir, closing); err != nil {
		return err
	}
	return strangers(dir)
}

func chmod(dir string, mode fs.FileMode) error {
	if err := os.Chmod(dir, mode); err != nil {
		return fmt.Errorf("close %s to others: %w", dir, err)
	}
	return nil
}

// strangers returns an error if dir has a link or a file of another user.
func strangers(dir string) error {
	real, err := filepath.EvalSymlinks(dir) // WalkDir does not follow a link
	if err != nil {
		return err
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == real {
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
