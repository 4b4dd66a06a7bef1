// Package paths compares paths by their text. Give it clean, absolute paths without links.
package paths

import "path/filepath"

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
