package guard

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// move moves a path of the project into quarantine and returns where it is. No link on the way is followed. What cannot be moved there
// stays in the project under a name that nothing runs.
func (g *Guard) move(rel string) (to string, err error) {
	info, err := g.root.Lstat(rel)
	if err != nil {
		return "", err
	}
	if info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		_ = g.root.Chmod(rel, 0o700) // a directory that cannot be written cannot be moved either
	}
	name := time.Now().UTC().Format("20060102-150405-")
	dir, err := os.MkdirTemp(g.o.Quarantine, name)
	if err != nil {
		return g.disarm(rel, name+strconv.FormatInt(time.Now().UnixNano(), 36))
	}
	to = filepath.Join(dir, filepath.Base(rel))
	if err = g.renameTo(rel, to); err == nil {
		return to, nil
	}
	harmless, err := g.disarm(rel, filepath.Base(dir))
	if err != nil {
		_ = os.Remove(dir)
		return "", err
	}
	return g.copyTo(harmless, dir, to)
}

func (g *Guard) renameTo(rel, to string) error {
	parent, err := g.root.Open(filepath.Dir(rel))
	if err != nil {
		return err
	}
	defer parent.Close()
	return rename(parent, filepath.Base(rel), to)
}

// disarm gives a path a name in the project that nothing runs, and takes from a git directory what makes it one. It returns the path.
func (g *Guard) disarm(rel, name string) (string, error) {
	harmless := name + ".quarantine"
	if err := g.root.Rename(rel, harmless); err != nil {
		return "", err
	}
	_ = g.root.Rename(filepath.Join(harmless, "HEAD"), filepath.Join(harmless, "HEAD.quarantine"))
	return filepath.Join(g.o.Project, harmless), nil
}

// copyTo moves what was disarmed to another file system. If it cannot be copied whole it stays.
func (g *Guard) copyTo(harmless, dir, to string) (string, error) {
	rel := filepath.Base(harmless)
	if err := g.copy(rel, to); err != nil {
		_ = os.RemoveAll(dir)
		return harmless, nil
	}
	_ = os.Rename(filepath.Join(to, "HEAD.quarantine"), filepath.Join(to, "HEAD"))
	return to, g.root.RemoveAll(rel)
}

// copy copies files, directories and links. What is something else, such as a pipe, has no content.
func (g *Guard) copy(rel, to string) error {
	info, err := g.root.Lstat(rel)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return g.copyDir(rel, to, info.Mode().Perm())
	case fs.ModeSymlink:
		text, err := g.root.Readlink(rel)
		if err != nil {
			return err
		}
		return os.Symlink(text, to)
	case 0:
		return g.copyFile(rel, to)
	}
	return nil
}

func (g *Guard) copyDir(rel, to string, mode fs.FileMode) error {
	if mode&0o700 != 0o700 {
		if err := g.root.Chmod(rel, 0o700); err != nil {
			return err
		}
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	dir, err := g.root.Open(rel)
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		err = errors.Join(err, g.copy(filepath.Join(rel, name), filepath.Join(to, name)))
	}
	return errors.Join(err, dir.Close())
}

func (g *Guard) copyFile(rel, to string) error {
	from, err := g.open(rel)
	if errors.Is(err, fs.ErrPermission) && g.root.Chmod(rel, 0o600) == nil {
		from, err = g.open(rel)
	}
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(out, from)
		err = errors.Join(err, out.Close())
	}
	return errors.Join(err, from.Close())
}
