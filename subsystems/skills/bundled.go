package skills

import (
	"bytes"
	"crypto/rand"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

//go:embed bundled
var embedded embed.FS

func bundledFiles() fs.FS {
	files, err := fs.Sub(embedded, "bundled")
	if err != nil {
		panic("skills: bundled: " + err.Error()) // the path is a constant and valid
	}
	return files
}

// WriteBundled writes the skills of this package below dir, one folder each, so
// that their scripts can be run and their references read. It makes a missing dir. It
// replaces files that differ, each atomically: dir belongs to the program, and people
// do not edit files there. Several processes may call it at the same time.
func WriteBundled(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("skills: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("skills: %w", err)
	}
	defer root.Close()
	files := bundledFiles()
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := writeFile(root, name, data); err != nil {
			return fmt.Errorf("skills: %s: %w", dir, err)
		}
		return nil
	})
}

func writeFile(root *os.Root, name string, data []byte) error {
	mode := fs.FileMode(0o644)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o755
	}
	info, err := root.Stat(name)
	if have, e := root.ReadFile(name); err == nil && e == nil && bytes.Equal(have, data) && info.Mode().Perm() == mode {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), "."+rand.Text()+".tmp")
	err = root.WriteFile(temp, data, mode)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}
