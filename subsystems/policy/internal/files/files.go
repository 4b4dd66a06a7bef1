// Package files asks the file system what a path means: whether case counts in it, and whether programs run code from it later. Paths
// are absolute and clean, with slashes. The answers hold for the moment; files may change between them and the use.
package files

import (
	"os"
	"path"
	"strings"

	"github.com/grapnel-go/grapnel/internal/protected"
)

// Fold maps texts that differ only in case to the same text.
func Fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// maxTried limits the names of a directory that are tried in other case.
const maxTried = 64

// FoldsCase reports whether names that differ in case are one file, at a path below root. It asks with what is there: the path itself,
// else its neighbours, else its directory, up to the root. Where nothing is, case counts.
func FoldsCase(root, name string) bool {
	for at := name; ; at = path.Dir(at) {
		if folds, known := sameInOtherCase(at); known {
			return folds
		}
		if !strings.HasPrefix(at, strings.TrimSuffix(root, "/")+"/") {
			return false
		}
		for _, neighbour := range someNames(path.Dir(at)) {
			if folds, known := sameInOtherCase(path.Join(path.Dir(at), neighbour)); known {
				return folds
			}
		}
	}
}

// sameInOtherCase reports whether a file has its name in other case too. It is not known of a file that does not exist, nor of
// a name without letters.
func sameInOtherCase(name string) (same, known bool) {
	base := path.Base(name)
	other := otherCase(base)
	if other == base {
		return false, false
	}
	file, err := os.Stat(name)
	if err != nil {
		return false, false
	}
	twin, err := os.Stat(path.Join(path.Dir(name), other))
	return err == nil && os.SameFile(file, twin), true
}

// otherCase swaps the case of the letters of ASCII, which every file system that folds any folds.
func otherCase(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r ^ 0x20
		}
		return r
	}, name)
}

// someNames returns names in a directory. Unlike os.Open, a root never waits for the other end of a pipe.
func someNames(dir string) []string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxTried)
	return names
}

// RunsCode says why programs run code from a path later, as a clause; "" if they do not. Above root, it takes the whole path for one in a
// project. It knows git directories without the name .git by their HEAD.
func RunsCode(root, name string) string {
	rel := strings.TrimPrefix(name, "/")
	base := "/"
	if root != "" && name != root {
		if r, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/"); ok {
			rel, base = r, root
		}
	}
	if why, ok := Named(rel); ok {
		return why
	}
	for _, dir := range protected.GitDirs(rel) {
		if _, err := os.Lstat(path.Join(base, dir, "HEAD")); err == nil {
			return "git takes the repository from its directory"
		}
	}
	return ""
}

// Named says by the names alone, of a path relative to the project, why programs run code from it later.
func Named(rel string) (why string, ok bool) {
	if protected.MakesGitDir(rel) {
		return "git may take its directory for a repository", true
	}
	return protected.Match(rel)
}
