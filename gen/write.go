package gen

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// compare returns the generated files that have to change. An output name that is no regular file is a problem.
func (r *run) compare(output map[string][]byte) ([]Change, []diag.Problem, error) {
	var changes []Change
	var problems []diag.Problem
	for _, root := range r.listing.Roots {
		own, err := r.listing.OwnFiles(root)
		if err != nil {
			return nil, nil, err
		}
		want, name := output[root.PkgPath], filepath.Join(filepath.Dir(root.GoFiles[0]), load.Output)
		if want != nil {
			kind, err := state(name, want)
			switch {
			case errors.Is(err, errNoFile):
				problems = append(problems, r.noFile(name, err))
			case err != nil:
				return nil, nil, err
			case kind != "":
				changes = append(changes, Change{name, kind})
			}
		}
		for _, file := range own {
			if file != name || want == nil {
				changes = append(changes, Change{file, Orphaned})
			}
		}
	}
	return changes, problems, nil
}

// readable returns an error if the generated file of a package with errors cannot be read: the go command then knows no imports of
// the package, and other problems would mislead.
func (r *run) readable() error {
	for _, root := range r.listing.Roots {
		if len(root.Errors) == 0 {
			continue
		}
		f, err := os.Open(filepath.Join(root.Dir, load.Output))
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("read the generated file, nothing was changed: %w", err)
		}
		if err == nil {
			_ = f.Close() // only read
		}
	}
	return nil
}

// errNoFile: the name of the generated file belongs to something that is no file.
var errNoFile = errors.New("is no file")

// state tells how a file differs from the wanted text; "" if it does not.
func state(name string, want []byte) (Kind, error) {
	switch info, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return Missing, nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return "", fmt.Errorf("%w but a symbolic link", errNoFile)
	case info.IsDir():
		return "", fmt.Errorf("%w but a directory", errNoFile)
	case !info.Mode().IsRegular():
		return "", errNoFile
	}
	have, err := os.ReadFile(name)
	if err == nil && !bytes.Equal(have, want) {
		return Stale, nil
	}
	return "", err
}

// noFile is the problem of an output name that is no regular file.
func (r *run) noFile(name string, err error) diag.Problem {
	return diag.New(diag.OutputNoFile, token.Position{Filename: relative(r.dir, name)}, load.Output, err)
}

func (r *run) texts(output map[string][]byte) map[string][]byte {
	texts := map[string][]byte{}
	for _, root := range r.listing.Roots {
		texts[filepath.Join(filepath.Dir(root.GoFiles[0]), load.Output)] = output[root.PkgPath]
	}
	return texts
}

func (r *run) record(changes []Change, output map[string][]byte) {
	texts := r.texts(output)
	r.result.Texts = map[string][]byte{}
	for _, c := range changes {
		path := relative(r.dir, c.Path)
		if c.Kind != Orphaned {
			r.result.Texts[path] = texts[c.Path]
		}
		r.result.Changes = append(r.result.Changes, Change{path, c.Kind})
	}
	slices.SortFunc(r.result.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}

// write first writes all texts into temporary files and then renames them: if a directory is not writable, nothing changes.
func (r *run) write(changes []Change, output map[string][]byte) error {
	texts := r.texts(output)
	made := map[string]string{}
	defer func() {
		for _, name := range made {
			_ = os.Remove(name) // fails for those that were renamed
		}
	}()
	for _, c := range changes {
		if c.Kind == Orphaned {
			continue
		}
		name, err := writeTemp(c.Path, texts[c.Path])
		if name != "" {
			made[c.Path] = name
		}
		if err != nil {
			return fmt.Errorf("write the generated file, nothing was changed: %w", err)
		}
	}
	for _, c := range changes {
		if c.Kind == Orphaned {
			if err := os.Remove(c.Path); err != nil {
				return fmt.Errorf("delete the obsolete generated file: %w", err)
			}
			continue
		}
		if err := os.Rename(made[c.Path], c.Path); err != nil {
			return fmt.Errorf("write the generated file: %w", err)
		}
	}
	return nil
}

func replace(name string, text []byte) error {
	made, err := writeTemp(name, text)
	if made != "" {
		defer os.Remove(made) // fails if it was renamed
	}
	if err != nil {
		return err
	}
	return os.Rename(made, name)
}

// writeTemp writes a text into a temporary file beside name, with the mode of that file, else 0644. The caller renames or removes
// it.
func writeTemp(name string, text []byte) (string, error) {
	mode := fs.FileMode(0o644)
	if info, err := os.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".hookgen-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Chmod(mode), f.Close())
}

// relative returns the path relative to dir if it lies below it.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
