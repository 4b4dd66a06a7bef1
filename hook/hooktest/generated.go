package hooktest

import (
	"cmp"
	"testing"

	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/origin"
)

// Generated fails the test if hook_gen.go in the working directory, which in a test is
// the package's, was not generated from the sources in the same directory. [Run] checks
// that too, with the rule generated-current; Generated is for packages whose hooks the
// kit does not run.
//
// It notices changes to declarations of the package itself: added, removed and renamed
// tools, their signatures, comments and directives, the types and constants of their
// arguments and results with tags and comments, added and removed points, and the fields
// and tags of composites. It does not notice changes to types and constants of other
// packages, to types behind an alias or a type parameter, and to the version of hookgen;
// hookgen -check does. Without sources in the directory it finds nothing.
func Generated(t testing.TB) {
	t.Helper()
	if found := outdated("."); found != "" {
		t.Error(found)
	}
}

// outdated says why the generated file in a directory is out of date; "" if it is current.
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
