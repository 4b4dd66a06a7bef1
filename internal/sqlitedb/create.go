package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// resolve returns the absolute path of the file, with links followed: SQLite names the log
// after that file. The file may be missing.
func resolve(path string) (string, error) {
	file, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range 40 { // as many as Linux follows
		target, err := os.Readlink(file)
		if err != nil {
			return file, nil //nolint:nilerr // not a link, or missing
		}
		if !filepath.IsAbs(target) {
			target = filepath.Dir(file) + string(filepath.Separator) + target
		}
		dir, name := filepath.Split(target)
		if dir, err = filepath.EvalSymlinks(dir); err != nil { // ".." behind a link is above the link's target
			return "", err
		}
		file = filepath.Join(dir, name)
	}
	return "", fmt.Errorf("%w: it is a link that leads to itself; name a file", ErrForeign)
}

// create makes the file with its mode, because SQLite would make it readable for others.
func create(file string, sync func(dir string) error) error {
	if err := makeDir(filepath.Dir(file), sync); err != nil {
		return err
	}
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is a %s; name a file", ErrForeign, kind(info.Mode()))
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func kind(m fs.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return "special file"
}

// makeDir makes the directory and missing ones above it, and syncs each that has a new
// entry. SQLite syncs only the directory of its file; a loss of power could lose that
// directory itself.
func makeDir(dir string, sync func(dir string) error) error {
	var changed []string
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil {
			break
		}
		changed = append(changed, filepath.Dir(d))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range changed {
		if err := sync(d); err != nil {
			return err
		}
	}
	return nil
}

// syncDir syncs the names in a directory, where the file system can.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
