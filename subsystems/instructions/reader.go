package instructions

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/character"
	"github.com/grapnel-go/grapnel/internal/conffile"
)

const (
	// maxFile is the size in bytes of the largest file that is read.
	maxFile = 256 << 10
	// maxFiles limits the files of an agent, imported ones included, maxDirs the
	// directories from the root of the project down.
	maxFiles = 32
	maxDirs  = 32
	// maxMentions limits the imports that are looked for, in one file and in all.
	maxMentions = 128
	// maxDepth is how deep imports may nest.
	maxDepth = 5
	// maxLinks limits the links from a name to its file.
	maxLinks = 8
	// maxLeft limits the files that are listed as left out.
	maxLeft = 64
)

// doc is one file that was read.
type doc struct {
	path, by string
	text     string
}

// reader reads the files of one agent.
type reader struct {
	ctx    context.Context
	root   *os.Root
	within string
	now    time.Time

	seen []sighting
	// taken has the names of files that are read, without links, and the paths that led to
	// them; texts has the paths by content.
	taken map[string]string
	texts map[[sha256.Size]byte]string
	docs  []doc
	left  []File
	// looked counts imports that were looked for.
	looked int
}

// leave lists a file that the model does not get.
func (r *reader) leave(f File) {
	if len(r.left) < maxLeft {
		r.left = append(r.left, f)
	}
}

// read returns the files in their order in the prompt: those of the root first, and
// imported files before those that import them.
func (r *reader) read(w want) []doc {
	dirs := parents(w.dir)
	var named []doc // the nearest directory first, which gets the room
	for _, dir := range slices.Backward(dirs) {
		for _, name := range w.files {
			if r.ctx.Err() != nil {
				return nil
			}
			if d, ok := r.one(path.Join(dir, name), ""); ok {
				named = append(named, d)
			}
		}
	}
	slices.SortStableFunc(named, func(a, b doc) int { return depth(dirs, a.path) - depth(dirs, b.path) })
	for _, d := range named {
		r.add(d, 0)
	}
	return r.docs
}

// parents returns the directories from the root of the project to dir, at most the
// maxDirs nearest.
func parents(dir string) []string {
	out := []string{"."}
	if dir != "." {
		for i, c := range dir {
			if c == '/' {
				out = append(out, dir[:i])
			}
		}
		out = append(out, dir)
	}
	return out[max(0, len(out)-maxDirs):]
}

// depth returns the index of the nearest of the directories that has the file.
func depth(dirs []string, file string) int {
	for i, dir := range slices.Backward(dirs) {
		if dir == "." || strings.HasPrefix(file, dir+"/") {
			return i
		}
	}
	return 0
}

// one reads a file, unless it does not exist, is read already, or cannot be used.
func (r *reader) one(name, by string) (doc, bool) {
	f := File{Path: name, By: by}
	r.seen = append(r.seen, look(r.root, name, r.now))
	if r.seen[len(r.seen)-1].err == missing {
		info, err := r.root.Lstat(name)
		switch {
		case by != "":
			f.Note = "left out: does not exist"
			r.leave(f)
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			f.Note, f.warn = "left out: is a link to a file that does not exist; mend or remove it", true
			r.leave(f)
		}
		return doc{}, false
	}
	if len(r.taken) >= maxFiles {
		f.Note, f.warn = fmt.Sprintf("left out: there are more than %d files; import fewer", maxFiles), true
		r.leave(f)
		return doc{}, false
	}
	text, err := r.content(name)
	first := r.texts[sha256.Sum256([]byte(text))]
	switch {
	case errors.Is(err, errTaken):
		if by == "" {
			f.Note = "left out: " + err.Error()
			r.leave(f)
		}
		return doc{}, false
	case err != nil:
		f.Note, f.warn = "left out: "+conffile.Reason(err), true
		r.leave(f)
		return doc{}, false
	case strings.TrimSpace(text) == "":
		f.Note = "left out: it is empty"
		r.leave(f)
		return doc{}, false
	case first != "":
		f.Size, f.Note = len(text), "left out: the same text as "+first
		r.leave(f)
		return doc{}, false
	}
	r.texts[sha256.Sum256([]byte(text))] = name
	return doc{name, by, text}, true
}

// errTaken is the error of a file that is there already, by another name.
var errTaken = errors.New("the same file")

// content returns the text of a file that was not read before.
func (r *reader) content(name string) (string, error) {
	real, err := r.follow(name)
	if err != nil {
		return "", err
	}
	if as, ok := r.taken[real]; ok {
		return "", fmt.Errorf("%w as %s", errTaken, as)
	}
	data, err := conffile.ReadIn(r.root, real, &conffile.Options{Max: maxFile, Within: r.within})
	if err != nil {
		return "", err
	}
	r.taken[real] = name
	return strings.TrimPrefix(string(data), "\uFEFF"), nil
}

// follow returns the name of the file behind links. Each link must lead to a document in
// the project.
func (r *reader) follow(name string) (string, error) {
	for range maxLinks {
		info, err := r.root.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return name, nil // reading it says what is wrong
		}
		target, err := r.root.Readlink(name)
		if err != nil || filepath.IsAbs(target) {
			return name, nil
		}
		next := path.Join(path.Dir(name), filepath.ToSlash(target))
		switch {
		case !filepath.IsLocal(filepath.FromSlash(next)):
			return name, nil
		case !document(next):
			return "", errors.New("is a link to a file that is no document; link one that ends in " + endings)
		}
		name = next
	}
	return "", errors.New("is a link of too many links; link the file itself")
}

// add appends a file behind those that it imports.
func (r *reader) add(d doc, depth int) {
	found, bare := mentions(d.text)
	for _, m := range found {
		if r.ctx.Err() != nil {
			return
		}
		bare = r.include(d, m, depth) && bare
	}
	if bare && len(found) > 0 {
		r.leave(File{Path: d.path, By: d.by, Size: len(d.text), Note: "left out: it only imports"})
		return
	}
	r.docs = append(r.docs, d)
}

// include adds what a file mentions, if that is a document. It reports whether the model
// gets the document.
func (r *reader) include(from doc, mentioned string, depth int) bool {
	name := imported(mentioned)
	if name == "" {
		return false
	}
	f := File{Path: name, By: from.path}
	if r.looked++; r.looked > maxMentions {
		if r.looked == maxMentions+1 {
			f.Path, f.Note, f.warn = from.path, fmt.Sprintf("imports of it are left out: only %d are looked for; import fewer", maxMentions), true
			r.leave(f)
		}
		return false
	}
	file, why := r.resolve(from.path, name)
	if why != "" {
		f.Note, f.warn = "left out: "+why, true
		r.leave(f)
		return false
	}
	if real, err := r.follow(file); err == nil && r.taken[real] != "" {
		return true
	}
	if depth == maxDepth {
		f.Path, f.Note, f.warn = file, fmt.Sprintf("left out: imports nest deeper than %d", maxDepth), true
		r.leave(f)
		return false
	}
	if d, ok := r.one(file, from.path); ok {
		r.add(d, depth+1)
		return true
	}
	real, err := r.follow(file)
	return err == nil && r.taken[real] != "" // the same text as another one
}

// maxPath limits the path of an import in bytes.
const maxPath = 255

// resolve returns the path of an import in the project, or why it is not followed.
func (r *reader) resolve(from, name string) (file, why string) {
	const outside = "it lies outside of the project; copy it in"
	switch {
	case len(name) > maxPath:
		return "", fmt.Sprintf("its path has more than %d bytes", maxPath)
	case character.Odd(name) != "":
		return "", "its path has the character " + character.Odd(name)
	case strings.HasPrefix(name, "~"):
		return "", outside
	case filepath.IsAbs(name):
		rel, err := filepath.Rel(r.within, name)
		if err != nil || !filepath.IsLocal(rel) {
			return "", outside
		}
		return filepath.ToSlash(rel), ""
	}
	file = path.Join(path.Dir(from), name)
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", outside
	}
	return file, ""
}
