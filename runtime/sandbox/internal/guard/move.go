package guard

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// move moves a path of the project into quarantine and returns where it is. No link on the way is followed.
func (g *Guard) move(rel string) (to string, err error) {
	parent, err := g.root.Open(filepath.Dir(rel))
	if err != nil {
		return "", err
	}
	defer parent.Close()
	dir, err := os.MkdirTemp(g.o.Quarantine, time.Now().UTC().Format("20060102-150405-"))
	if err != nil {
		return "", err
	}
	to = filepath.Join(dir, filepath.Base(rel))
	if err := rename(parent, filepath.Base(rel), to); err == nil {
		return to, nil
	} else if !acrossDevices(err) {
		_ = os.Remove(dir)
		return "", err
	}
	return g.moveByCopy(rel, dir, to)
}

// moveByCopy moves a path to another file system. Its new name in the project is one that nothing runs; so what cannot be copied whole
// can stay there, if git does not take it for a repository either.
func (g *Guard) moveByCopy(rel, dir, to string) (string, error) {
	harmless := filepath.Base(dir) + ".quarantine"
	if err := g.root.Rename(rel, harmless); err != nil {
		return "", err
	}
	if err := g.copy(harmless, to); err != nil {
		_ = os.RemoveAll(dir)
		_ = g.root.Rename(filepath.Join(harmless, "HEAD"), filepath.Join(harmless, "HEAD.quarantine"))
		return filepath.Join(g.o.Project, harmless), nil
	}
	return to, g.root.RemoveAll(harmless)
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
