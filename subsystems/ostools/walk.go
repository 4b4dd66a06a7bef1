package ostools

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

const (
	// maxVisited limits the files that one search visits.
	maxVisited = 200_000
	// maxRows and maxFound limit the answer of one search, in lines and bytes.
	maxRows  = 1000
	maxFound = 64_000
)

// skipped reports whether a search does not enter the directory, unless it starts there.
func skipped(name string) bool { return name == ".git" || name == "node_modules" }

// errEnough ends a walk.
var errEnough = errors.New("enough")

// walk calls f for everything below start that is no directory, in the order of the names,
// without following links. whole is false if it stopped early.
func walk(ctx context.Context, p place, start string, f func(rel string, d fs.DirEntry) error) (whole bool, err error) {
	seen := 0
	err = fs.WalkDir(p.root.FS(), filepath.ToSlash(start), func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && rel == filepath.ToSlash(start):
			return pathError(p.name(rel), err)
		case err != nil:
			return nil // skip an unreadable directory
		}
		if seen++; seen > maxVisited {
			return errEnough
		}
		if d.IsDir() {
			if rel != filepath.ToSlash(start) && skipped(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		return f(rel, d)
	})
	if errors.Is(err, errEnough) {
		return false, nil
	}
	return err == nil, err
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
func (f *found) text(nothing string, whole bool) string {
	switch {
	case f.full:
		f.sb.WriteString("[there is more; narrow the search]\n")
	case !whole:
		f.sb.WriteString("[not everything was searched: too many files; narrow the search]\n")
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
