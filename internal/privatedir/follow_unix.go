//go:build unix

package privatedir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks limits the links in a path, as Linux does.
const maxLinks = 40

// way is a path that is followed name by name, like the system does.
type way struct {
	path  string // as it was asked for
	at    string // how far it was followed; it has no links
	info  fs.FileInfo
	rest  []string // names that follow
	links int
}

// follow is os.Stat, but returns an error if users other than the user and root can replace
// a directory or a link on the way.
func follow(path string) (fs.FileInfo, error) {
	w := &way{path: path}
	abs := path
	if !filepath.IsAbs(path) {
		wd, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		abs = wd + "/" + path // not cleaned: .. behind a link is above what the link leads to
	}
	if err := w.insert(abs); err != nil {
		return nil, err
	}
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return nil, err
		}
	}
	return w.info, nil
}

// insert puts a path before the names that follow.
func (w *way) insert(path string) (err error) {
	w.rest = append(strings.Split(path, "/"), w.rest...)
	if filepath.IsAbs(path) {
		w.at = "/"
		w.info, err = os.Lstat(w.at)
	}
	return err
}

func (w *way) step() (err error) {
	name := w.rest[0]
	w.rest = w.rest[1:]
	if name == "" || name == "." {
		return nil
	}
	if replaceable(w.info) {
		return fmt.Errorf("others can replace %s, because %s (mode %04o) is theirs or open to them; choose a place that only you can write to",
			w.path, w.at, w.info.Mode().Perm())
	}
	if name == ".." {
		w.at = filepath.Dir(w.at)
		w.info, err = os.Lstat(w.at)
		return err
	}
	next := filepath.Join(w.at, name)
	info, err := os.Lstat(next)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		w.at, w.info = next, info
		return nil
	}
	if !trusted(info) {
		return fmt.Errorf("others can replace %s, because the link %s belongs to another user; choose a place that only you can write to", w.path, next)
	}
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "follow", Path: w.path, Err: syscall.ELOOP}
	}
	target, err := os.Readlink(next)
	if err != nil {
		return err
	}
	return w.insert(target)
}
