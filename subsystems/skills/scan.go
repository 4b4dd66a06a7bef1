package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

const (
	// fileName is the file that makes a folder a skill; case matters.
	fileName = "SKILL.md"
	// maxDepth and maxDirs limit the search below a directory: its depth, and the
	// number of folders.
	maxDepth = 6
	maxDirs  = 2000
	// maxSkill limits a SKILL.md in bytes, maxResources the listed files of a skill.
	maxSkill     = 1 << 20
	maxResources = 100
)

// source is a place of skills: a directory, or files in the program.
type source struct {
	dir string
	// within is the project that dir belongs to; "" if it belongs to none.
	within string
	files  fs.FS
	// rank counts the sources from 0.
	rank int
}

// folder is an open source. root is nil for files in the program.
type folder struct {
	source
	root  *os.Root
	files fs.FS
}

// open opens the source; it returns nil if there is no such directory. It does not follow
// links out of the directory, so that a foreign folder cannot make a model read other
// files. Nor does it follow a link to the directory out of its project.
func (s source) open() (*folder, error) {
	if s.files != nil {
		return &folder{source: s, files: s.files}, nil
	}
	root, err := conffile.OpenDir(s.dir, s.within)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &folder{source: s, root: root, files: root.FS()}, nil
}

func (f *folder) close() {
	if f.root != nil {
		_ = f.root.Close() // nothing was written
	}
}

// read returns a file of bounded size.
func (f *folder) read(name string) ([]byte, error) {
	if f.root == nil {
		return fs.ReadFile(f.files, name)
	}
	return conffile.ReadIn(f.root, name, &conffile.Options{Max: maxSkill, Within: f.within})
}

// scanned is the result of a scan of all sources.
type scanned struct {
	skills   []Skill
	warnings []string
}

func (r *scanned) warn(where, format string, args ...any) {
	r.warnings = append(r.warnings, where+": "+fmt.Sprintf(format, args...))
}

func (s *Skills) scan() scanned {
	var r scanned
	for _, src := range s.sources {
		from, err := src.open()
		if err != nil {
			r.warn(src.dir, "is not searched for skills: %s", conffile.Reason(err))
			continue
		}
		if from == nil {
			continue
		}
		w := walker{folder: from, out: &r}
		w.dir(".", 0)
		from.close()
	}
	slices.SortStableFunc(r.skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return r
}

type walker struct {
	*folder
	out  *scanned
	dirs int
}

// where returns a path for people.
func (w *walker) where(name string) string {
	if w.root == nil {
		return filepath.Join("built in", name)
	}
	return filepath.Join(w.source.dir, name)
}

// dir searches a folder: it is a skill, or has skills below it.
func (w *walker) dir(name string, depth int) {
	if w.dirs++; w.dirs > maxDirs {
		if w.dirs == maxDirs+1 {
			w.out.warn(w.where("."), "only the first %d folders were searched", maxDirs)
		}
		return
	}
	entries, err := fs.ReadDir(w.files, name)
	if err != nil {
		w.out.warn(w.where(name), "cannot be read: %v", err)
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == fileName }) {
		w.skill(name)
		return
	}
	for _, e := range entries {
		if depth < maxDepth && w.isDir(name, e) {
			w.dir(path.Join(name, e.Name()), depth+1)
		}
	}
}

func (w *walker) isDir(parent string, e fs.DirEntry) bool {
	if passedOver(e.Name()) {
		return false
	}
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	name := path.Join(parent, e.Name())
	info, err := fs.Stat(w.files, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.out.warn(w.where(name), "is a link that leads out of %s and is not followed; search its target instead", w.source.dir)
	}
	return err == nil && info.IsDir()
}

func passedOver(name string) bool { return strings.HasPrefix(name, ".") || name == "node_modules" }

func (w *walker) skill(name string) {
	file := path.Join(name, fileName)
	data, err := w.read(file)
	if err != nil {
		w.out.warn(w.where(file), "left out: %s", conffile.Reason(err))
		return
	}
	k, notes, err := parse(string(data), filepath.Base(w.where(name)))
	for _, note := range notes {
		w.out.warn(w.where(file), "%s", note)
	}
	if err != nil {
		w.out.warn(w.where(file), "left out: %v", err)
		return
	}
	if first, ok := find(w.out.skills, k.Name); ok {
		w.out.warn(w.where(file), "left out: there is a skill %q already, in %s", k.Name, first.location())
		return
	}
	if w.root != nil {
		k.Dir = filepath.Join(w.source.dir, name)
	}
	k.rank = w.rank
	k.Resources = resources(w.files, name)
	w.out.skills = append(w.out.skills, k)
}

// resources lists the other files of a skill, sorted, as paths below its folder.
func resources(files fs.FS, dir string) []string {
	var out []string
	_ = fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(out) == maxResources:
			return fs.SkipAll // list the others without it
		case name != dir && passedOver(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || name == path.Join(dir, fileName) || !leadsToFile(files, name, d):
			return nil
		}
		rel := name
		if dir != "." {
			rel = strings.TrimPrefix(name, dir+"/")
		}
		out = append(out, rel)
		return nil
	})
	return out
}

// leadsToFile reports whether the entry is a regular file, or a link to one that may be
// read.
func leadsToFile(files fs.FS, name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}
