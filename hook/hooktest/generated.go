package hooktest

import (
	"cmp"
	"testing"

	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/origin"
)

// Generated fails the test if hook_gen.go in the working directory, which is the
// package's in a test, was not generated from the sources beside it. [Run] checks
// that too, by the rule generated-current; Generated is for packages whose hooks are
// not run by the kit.
//
// It sees a tool that was added, removed or renamed, its signature, comment and
// directives, the types and constants of its arguments and results with their tags and
// comments, points that were added or removed, and the fields and tags of composites:
// all that is declared in the package itself. What it does not see: types and constants
// of other packages, types that only an alias or a type parameter leads to, and another
// version of hookgen. hookgen -check sees these. Where there is no source beside the
// test it finds nothing.
func Generated(t testing.TB) {
	t.Helper()
	if found := outdated("."); found != "" {
		t.Error(found)
	}
}

// outdated says what is wrong with the generated file in a directory.
func outdated(dir string) string {
	var points []string
	for _, info := range point.All() {
		points = append(points, info.Name)
	}
	why, err := origin.Stale(dir, points)
	switch {
	case err != nil:
		return err.Error()
	case why != "":
		return why + `: run "go tool hookgen ./..."`
	}
	return ""
}

func checkGenerated(p *probe) {
	if found := outdated(cmp.Or(p.o.Sources, ".")); found != "" {
		p.failf("%s", found)
	}
}
