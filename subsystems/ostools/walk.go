package ostools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

const (
	// maxVisited limits the files that one search visits.
	maxVisited = 200_000
	// maxDepth limits the levels of directories below the start of a search.
	maxDepth = 100
	// maxRows and maxFound limit the answer of one search, in lines and bytes.
	maxRows  = 1000
	maxFound = 64_000
)

// skipped reports whether a search does not enter the directory, unless it starts there.
func skipped(name string) bool { return name == ".git" || name == "node_modules" }

// errEnough ends a walk.
var errEnough = errors.New("enough")

const tooMany = "too many files"

// walker visits what is below a directory, in the order of the names, without following links.
type walker struct {
	p     place
	visit func(rel string, d fs.DirEntry) error
	// room is how many entries the walk may still list: those that wait for their visit are in memory.
	room int
	// cut says why something was left out; "" if nothing was.
	cut string
}

// walk calls f for everything below the place that is no directory; f gets the path below the root, with slashes. cut says why it left
// something out, "" if it did not.
func walk(ctx context.Context, p place, f func(rel string, d fs.DirEntry) error) (cut string, err error) {
	w := &walker{p: p, visit: f, room: maxVisited}
	info, err := p.root.Lstat(p.rel)
	if err != nil {
		return "", pathError(p.name(p.rel), err)
	}
	start := filepath.ToSlash(p.rel)
	if !info.IsDir() {
		err = f(start, fs.FileInfoToDirEntry(info))
	} else {
		err = w.directory(ctx, start, info, 0)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return w.cut, err
}

// directory visits a directory. One below the start that cannot be read is passed over.
func (w *walker) directory(ctx context.Context, rel string, info fs.FileInfo, depth int) error {
	entries, err := w.list(rel, info)
	if err != nil && depth == 0 {
		return err
	}
	for _, d := range entries {
		name := path.Join(rel, d.Name())
		if err := ctx.Err(); err != nil {
			return err
		}
		if !d.IsDir() {
			err = w.visit(name, d)
		} else {
			err = w.enter(ctx, name, d.Name(), depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enter visits a directory below another one.
func (w *walker) enter(ctx context.Context, rel, base string, depth int) error {
	if skipped(base) {
		return nil
	}
	switch {
	case depth > maxDepth:
		w.cut = "directories are too deep"
		return nil
	case w.room == 0:
		w.cut = tooMany
		return nil
	}
	info, err := w.p.root.Lstat(rel)
	if err != nil || !info.IsDir() {
		return nil // it was changed meanwhile
	}
	return w.directory(ctx, rel, info, depth)
}

// list returns the entries of a directory, sorted, and no more than there is room for. A file system of the kernel has none.
func (w *walker) list(rel string, info fs.FileInfo) ([]fs.DirEntry, error) {
	name := w.p.name(rel)
	d, err := w.p.root.OpenFile(rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, pathError(name, err)
	}
	defer d.Close()
	if err := kernels(name, d); err != nil {
		return nil, err
	}
	if now, err := d.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, failf(message.FailOperation, "%s was changed by somebody else at the same time", name)
	}
	entries, err := d.ReadDir(w.room + 1)
	if err != nil && err != io.EOF {
		return nil, pathError(name, err)
	}
	if len(entries) > w.room {
		entries, w.cut = entries[:w.room], tooMany
	}
	w.room -= len(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// begin locates the start of a search. An empty dir is the root, or the root of the grant.
func (o *OS) begin(grant hook.Grant, dir string) (place, error) {
	if dir == "" {
		dir = "."
	}
	p, err := o.locate(grant, dir, false)
	if err != nil {
		return place{}, err
	}
	rel, err := p.resolve()
	if err != nil {
		p.done()
		return place{}, pathError(p.name(p.rel), err)
	}
	p.rel = rel
	return p, nil
}

type found struct {
	sb         strings.Builder
	rows, room int
	full       bool
}

func newFound(grant hook.Grant) *found {
	f := &found{room: maxFound}
	if grant.MaxOutput > 0 {
		f.room = min(f.room, grant.MaxOutput)
	}
	return f
}

// add adds a row; it returns false if there is no room for it.
func (f *found) add(row string) bool {
	if f.rows == maxRows || len(row)+1 > f.room {
		f.full = true
		return false
	}
	f.rows++
	f.room -= len(row) + 1
	f.sb.WriteString(row)
	f.sb.WriteByte('\n')
	return true
}

// text returns the rows, with remarks about missing ones.
func (f *found) text(nothing, cut string) string {
	switch {
	case f.full:
		f.sb.WriteString("[there is more; narrow the search]\n")
	case cut != "":
		fmt.Fprintf(&f.sb, "[not everything was searched: %s; narrow the search]\n", cut)
	}
	if f.rows == 0 {
		return nothing + "\n" + f.sb.String()
	}
	return f.sb.String()
}

// pattern is a checked glob. Without a slash it matches the last element of a path, unless
// anchored.
type pattern struct {
	text     string
	baseOnly bool
}

func newPattern(text string, anchored bool) (pattern, error) {
	text = strings.TrimPrefix(filepath.ToSlash(text), "./")
	if !doublestar.ValidatePattern(text) {
		return pattern{}, failf(message.FailArguments, "%q is no valid glob pattern", text)
	}
	return pattern{text: text, baseOnly: !anchored && !strings.Contains(text, "/")}, nil
}

func (g pattern) match(rel string) bool {
	if g.baseOnly {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(g.text, rel)
}

// below returns rel relative to start.
func below(start, rel string) string {
	start = filepath.ToSlash(start)
	if start == "." {
		return rel
	}
	if rel == start {
		return path.Base(rel)
	}
	return strings.TrimPrefix(rel, start+"/")
}
