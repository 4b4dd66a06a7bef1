package policy

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// places are what paths are relative to: absolute, slash-separated and clean.
type places struct {
	// root is without symbolic links, given as it was given; home is "" if there is
	// none.
	root, given, home string
}

func newPlaces(root, home string) (places, error) {
	var p places
	if home != "" {
		p.home = path.Clean(filepath.ToSlash(home))
	}
	if root == "" {
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
	return p, nil
}

// location is a path that a call means.
type location struct {
	// named is the path as the call has it, absolute and clean; real is where the
	// symbolic links in it lead. Both are the same outside of the root.
	named, real string
	// file: it is a file that is there, so that nothing is below it.
	file bool
}

// locate finds what a path in the arguments means. Links are followed as they are
// at this moment: whoever opens the file has to guard against others by itself.
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
			continue // it is not there yet: what it lies in is
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

// below returns what of a clean path lies below dir, "" for dir itself.
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
	// base is the directory that glob is relative to.
	base, glob string
	// anywhere: the pattern is a name without a directory.
	anywhere bool
}

// problem is what is wrong with a rule, and how to mend it.
type problem struct{ what, fix string }

// pathPattern compiles a pattern for paths, in the manner of a .gitignore: /x and
// a/x are below the root, //x is absolute, ~/x below the home directory, and x is
// everything of that name. If the last part has no wildcard, what is below it is
// meant too.
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
	g.glob = strings.TrimPrefix(path.Clean("/"+g.glob), "/")
	if last := path.Base("/" + g.glob); !strings.ContainsAny(last, "*?[{\\") {
		g.glob = strings.TrimPrefix(g.glob+"/**", "/")
	}
	if !doublestar.ValidatePattern(g.glob) {
		return g, &problem{"the pattern is not closed", "give every [ its ], every { its }, and put a \\ in front of one that is meant"}
	}
	return g, nil
}

// covers reports whether a clean absolute path is meant. A name without a directory
// is meant below the root, or if wide everywhere.
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

// reaches reports whether what is meant may lie below a directory.
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
