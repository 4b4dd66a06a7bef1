// Package paths compares paths by their text, and follows their links. What it compares has to be clean and absolute, without links.
package paths

import (
	"os"
	"path/filepath"
	"strings"
)

// Below returns the path of p relative to dir, if p is dir or below it. An empty dir has nothing in it.
func Below(dir, p string) (rel string, ok bool) {
	if dir == "" {
		return "", false
	}
	rel, err := filepath.Rel(dir, p)
	return rel, err == nil && filepath.IsLocal(rel)
}

// Overlap reports whether one of the paths is the other, or is below it.
func Overlap(a, b string) bool {
	_, in := Below(a, b)
	_, around := Below(b, a)
	return in || around
}

// maxLinks bounds the links of one path, as Linux does.
const maxLinks = 40

// Follow goes along an absolute path as the kernel does, and calls visit with each link on the way and with the end, which need not exist.
func Follow(path string, visit func(at string, link bool)) {
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		text, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		visit(next, true)
		if links++; links > maxLinks {
			return
		}
		rest = append(strings.Split(text, "/"), rest...)
		if filepath.IsAbs(text) {
			at = "/"
		}
	}
	visit(at, false)
}
