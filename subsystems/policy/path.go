package policy

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/files"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

// places are the bases of relative paths: absolute, slash-separated and clean.
type places struct {
	// root is the policy's root without symbolic links, given the same as configured.
	// home is the home directory; "" if there is none.
	root, given, home string
	// private are the directories of the program itself.
	private []string
}

// reader reads command lines that run in the root.
func (p places) reader() shell.Reader {
	return shell.Reader{Root: p.root, Home: p.home, Private: p.private}
}

func newPlaces(root, home string, private []string) (places, error) {
	var p places
	if home != "" {
		p.home = path.Clean(filepath.ToSlash(home))
	}
	if root == "" {
		p.keep(private)
		return p, nil
	}
	given, err := filepath.Abs(root)
	if err != nil {
		return p, err
	}
	p.given = filepath.ToSlash(given)
	p.root = p.given
	if real, err := filepath.EvalSymlinks(given); err == nil {
		p.root = filepath.ToSlash(real)
	}
	p.keep(private)
	return p, nil
}

// keep sets the private directories, as they are named and without symbolic links. One that has the root in it is left out: it
// would be everything.
func (p *places) keep(private []string) {
	for _, dir := range private {
		names := []string{dir}
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			names = append(names, real)
		}
		for _, name := range names {
			name = path.Clean(filepath.ToSlash(name))
			if _, has := below(name, p.root); !has || p.root == "" {
				p.private = append(p.private, name)
			}
		}
	}
}

// location is a path in a call.
type location struct {
	// named is the path in the call, made absolute and clean; real is the same with its
	// symbolic links followed. Both are the same outside the root.
	named, real string
	// file: it is an existing file, so that nothing is below it.
	file bool
}

// locate returns the location of a path in the arguments. It follows the links that exist
// now; the tool itself must guard against later changes.
func (p places) locate(arg string) location {
	named := filepath.ToSlash(arg)
	if !path.IsAbs(named) && !filepath.IsAbs(arg) {
		named = p.root + "/" + named
	}
	named = path.Clean(named)
	if rel, ok := below(p.given, named); ok {
		named = path.Join(p.root, rel)
	}
	l := location{named: named, real: named}
	if _, inside := below(p.root, named); !inside {
		return l
	}
	for dir, rest := named, ""; ; dir, rest = path.Dir(dir), path.Join(path.Base(dir), rest) {
		real, err := filepath.EvalSymlinks(filepath.FromSlash(dir))
		if err != nil && dir != p.root {
			continue // it does not exist: try its directory
		}
		if err == nil {
			l.real = path.Join(filepath.ToSlash(real), rest)
		}
		break
	}
	info, err := os.Stat(filepath.FromSlash(l.real))
	l.file = err == nil && !info.IsDir()
	return l
}

// below returns the part of a clean path below dir; "" for dir itself.
func below(dir, p string) (rel string, ok bool) {
	switch {
	case p == dir:
		return "", true
	case dir == "/":
		return strings.TrimPrefix(p, "/"), strings.HasPrefix(p, "/")
	}
	return strings.CutPrefix(p, dir+"/")
}

// pathGlob is a compiled pattern for paths.
type pathGlob struct {
	// base is the directory to which glob is relative.
	base, glob string
	// anywhere: the pattern is a name without a directory.
	anywhere bool
	// exact: the pattern has no wildcard.
	exact bool
}

// problem is a mistake in a rule, and its correction.
type problem struct{ what, fix string }

// pathPattern compiles a pattern for paths, similar to .gitignore: /x and a/x are below
// the root, //x is absolute, ~/x is below the home directory, and x matches that name
// anywhere. If the last part has no wildcard, the pattern also matches all below it.
func (p places) pathPattern(pattern string) (pathGlob, *problem) {
	if p.root == "" {
		return pathGlob{}, &problem{"there is no root that paths could be relative to", "set Options.Root"}
	}
	g := pathGlob{base: p.root, glob: pattern}
	switch {
	case strings.Contains(pattern, ":*"):
		return g, &problem{"`:*` is for commands", "write /dir/** for everything below a directory"}
	case strings.HasPrefix(pattern, "//"):
		g.base, g.glob = "/", pattern[2:]
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		if p.home == "" {
			return g, &problem{"there is no home directory", "write the path from / on, with two slashes: //home/me/…"}
		}
		g.base, g.glob = p.home, pattern[1:]
	default:
		g.anywhere = strings.Trim(pattern, ".") != "" && !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") && pattern != "/"
	}
	for _, part := range strings.Split(g.glob, "/") {
		if part == ".." {
			return g, &problem{"the pattern has .. in it", "write the path without it, or from / on with two slashes: //etc/**"}
		}
	}
	g.exact = !strings.ContainsAny(g.glob, "*?[{\\")
	g.glob = strings.TrimPrefix(path.Clean("/"+g.glob), "/")
	if last := path.Base("/" + g.glob); !strings.ContainsAny(last, "*?[{\\") {
		g.glob = strings.TrimPrefix(g.glob+"/**", "/")
	}
	if !doublestar.ValidatePattern(g.glob) {
		return g, &problem{"the pattern is not closed", "give every [ its ], every { its }, and put a \\ in front of one that is meant"}
	}
	return g, nil
}

// covers reports whether the pattern matches a clean absolute path. A name without a
// directory matches below the root, or with wide everywhere.
func (g pathGlob) covers(p string, wide bool) bool {
	base, pattern := g.base, g.glob
	if g.anywhere {
		pattern = "**/" + pattern
		if wide {
			base = "/"
		}
	}
	rel, ok := below(base, p)
	return ok && doublestar.MatchUnvalidated(pattern, rel)
}

// A rule that asks or denies holds for a path in other case too, where the file system takes both for one file. A rule that allows wants
// the path as it is written.

func (l location) folded() location {
	l.named, l.real = files.Fold(l.named), files.Fold(l.real)
	return l
}

func (g pathGlob) fold() pathGlob {
	g.base, g.glob = files.Fold(g.base), files.Fold(g.glob)
	return g
}

// coversAny reports whether the pattern matches the location by its name or with links followed, a name without a directory everywhere.
func (g pathGlob) coversAny(l location) bool {
	return g.covers(l.named, true) || g.covers(l.real, true)
}

// reachesAny is reaches for both paths of a location.
func (g pathGlob) reachesAny(l location) bool { return g.reaches(l.named) || g.reaches(l.real) }

// reaches reports whether the pattern may match a path below a directory.
func (g pathGlob) reaches(dir string) bool {
	if g.anywhere {
		return true
	}
	fixed, _ := doublestar.SplitPattern(g.glob)
	fixed = path.Join(g.base, fixed)
	_, above := below(dir, fixed)
	_, within := below(fixed, dir)
	return above || within
}
