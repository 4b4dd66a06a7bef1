package differential_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	. "github.com/grapnel-go/grapnel/internal/test/differential"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// paths are the members of Welded by the names that they log.
var paths = map[string]string{
	"First": "First", "CoreGuard": "Core.Guard", "CoreNotes": "Core.Notes", "Users": "Users", "Front": "Front",
	"PlainGuard": "Plain.Guard", "PlainNotes": "Plain.Notes", "Run": "Run", "Any": "Any", "Extra0": "Extra[0]", "Extra2": "Extra[2]",
}

var logged = regexp.MustCompile(`^(\w+)\.([A-Z]\w+)\(`)

// executed returns the executions in a log of Welded that a recorder has to tell, as
// "path point", sorted. WrapModel logs for each chunk, and is another test's.
func executed(log []string) []string {
	var out []string
	for _, line := range log {
		m := logged.FindStringSubmatch(line)
		if m == nil || paths[m[1]] == "" {
			continue
		}
		switch m[2] {
		case "OnEvent", "SystemPrompt", "ScopedTools", "Dispatch", "WrapModel":
			continue
		}
		out = append(out, paths[m[1]]+" "+m[2])
	}
	slices.Sort(out)
	return out
}

// Whatever the members log that they did is told as a run, once, with the full
// path; and no run is told that was none. The runs of hooks that are known only at
// run time are told at the methods of hook.Hook only if they changed something.
func TestEveryExecutionIsTold(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(rt *rapid.T) {
		_, _, _, w := build(rt, drawScript(rt, ""), func(w *Welded) Facade { return w.Compose() })
		ops := Ops()
		ops[slices.IndexFunc(ops, func(o Op) bool { return o.Name == "OnOpen" })].Run(w, "") // who closes has nobody else to tell
		for range rapid.IntRange(1, 12).Draw(rt, "length") {
			o := rapid.SampledFrom(ops).Draw(rt, "op")
			o.Run(w, rapid.SampledFrom(args).Draw(rt, "arg"))
		}
		var told []string
		for _, r := range w.Host.Runs {
			if r.Status != event.RunSkipped && r.Point != point.Dispatch && r.Point != point.WrapModel {
				told = append(told, r.Subsystem+" "+r.Point.String())
			}
		}
		slices.Sort(told)
		require.Equal(rt, certain(executed(w.Log.Lines())), certain(told))
	})
}

// certain leaves out what is told only if it has changed something.
func certain(runs []string) []string {
	return slices.DeleteFunc(runs, func(s string) bool {
		path, point, _ := strings.Cut(s, " ")
		late := path == "Any" || strings.HasPrefix(path, "Extra")
		return late && slices.Contains([]string{"OnBuildAgent", "OnRegisterAgent", "OnUnregisterAgent", "Preprocess"}, point)
	})
}
