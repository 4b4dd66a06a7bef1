package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/pathlinks"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

// steps returns what of the project a path goes through: the links on its way, and its end. The project itself is ".".
func (g *Guard) steps(path string) (out []string) {
	pathlinks.Follow(path, func(at string, _ bool) {
		if rel, in := paths.Below(g.o.Project, at); in {
			out = append(out, rel)
		}
	})
	return out
}

// leaves reports whether a link leads into the state directory, also if what it names is not there yet: processes can make it at any time.
func (g *Guard) leaves(rel string) (found bool) {
	if g.stays(rel) {
		return false
	}
	pathlinks.Follow(filepath.Join(g.o.Project, rel), func(at string, _ bool) {
		_, in := paths.Below(g.o.State, at)
		found = found || in
	})
	return found
}

// stays reports whether a link leads to something in a directory of the project, without another link on the way. It asks the kernel for
// the text of the link alone: there may be very many.
func (g *Guard) stays(rel string) bool {
	text, err := os.Readlink(filepath.Join(g.o.Project, rel))
	if err != nil || filepath.IsAbs(text) {
		return false
	}
	rest := text
	for strings.HasPrefix(rest, "../") {
		rest = rest[len("../"):]
	}
	if slices.Contains(strings.Split(rest, "/"), "..") {
		return false // what stands before it may be a link
	}
	return g.tree.folders[filepath.Dir(filepath.Join(filepath.Dir(rel), text))] != nil
}
