// Package pathlinks says through which links a path leads.
package pathlinks

import (
	"os"
	"path/filepath"
	"strings"
)

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

// Reaches reports whether a path is in a directory, or leads through it by a link: then whoever may write there, such as a command whose
// project the directory is, decides what the path names. Both are absolute. What does not exist is in the directory if it would be.
func Reaches(path, dir string) (found bool) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	Follow(path, func(at string, _ bool) {
		rel, err := filepath.Rel(dir, at)
		found = found || err == nil && filepath.IsLocal(rel)
	})
	return found
}
