package differential_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/mutants"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// mutation is one mistake that an emitter could make in the table of Welded, or in the function that knows the owners. It replaces
// the first match of a pattern; empty, the pattern stands for nothing and the mutant must survive. method is where it shows. That a
// tool has no owner shows nowhere here: then all members are asked.
type mutation struct{ method, mistake, pattern, with string }

var mutations = []mutation{
	{"BeforeTool", "none: the copy behaves as the original", "", ""},

	{"Schema", "a member is left out", `Hook: +w\.Front`, `Hook: nil`},
	{"BeforeTool", "a member is another", `Hook: +w\.Front`, `Hook: w.Users`},
	{"BeforeTool", "two members are swapped", `(\{Field: "Core".*\})(,\s+)(\{Field: "Users".*\})`, `$3$2$1`},
	{"BeforeTool", "a failure has another's path", `Field: "Front"`, `Field: "Run"`},
	{"Ready", "an optional member is required", `"optional; AfterTool: failopen"`, `"; AfterTool: failopen"`},
	{"Schema", "a prefix is lost", `"prefix=users_; `, `"; `},
	{"Schema", "a prefix is another", `"prefix=core_"`, `"prefix=cor_"`},
	{"BeforeTool", "a fail policy is lost", `BeforeTool: failopen; `, ``},
	{"Preprocess", "the fail policy of a rewriter is lost", `; Preprocess: failopen`, ``},
	{"WrapTool", "the fail policy of a wrap is lost", `WrapTool: failopen; `, ``},
	{"AfterTool", "a fail policy is turned round", `AfterTool: failopen`, `AfterTool: failclosed`},
	{"OnEvent", "a point of hook.Hook is lost", `point\.OnEvent, `, ``},
	{"BeforeTool", "a point is lost", `point\.BeforeTool, `, ``},
	{"AfterTurn", "an observer is lost", `point\.AfterTurn, `, ``},
	{"OnClose", "a side of a bracket is lost", `, point\.OnClose`, ``},
	{"Schema", "a group is none", `IsGroup: +true, Group: +w\.Extra`, `Hook: hook.Nop{}`},
	{"Schema", "a group loses its first", `Group: +w\.Extra`, `Group: w.Extra[min(1, len(w.Extra)):]`},
	{"Dispatch", "two owners are swapped", `return 2(?s:(.*?))return 3`, `return 3${1}return 2`},
	{"Dispatch", "a tool has the owner of another", `return 4`, `return 2`},
}

// Every mistake in the table is seen by the differential test: the mutants are built into the test binary beside Welded, and
// each of them fails the comparison that Welded passes.
func TestMutantsAreKilled(t *testing.T) {
	needs.Proof(t)
	require.GreaterOrEqual(t, len(mutations), 18)
	for i, killed := range mutants.Killed(t, len(mutations), mutated(t), trial, "-rapid.checks=400") {
		m := mutations[i]
		assert.Equal(t, m.pattern != "", killed, "%d: %s: %s", i, m.method, m.mistake)
	}
}

// mutated returns a type per mutation that embeds Welded and composes itself with the mistake.
func mutated(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("hook_gen.go")
	require.NoError(t, err)
	text := regexp.MustCompile(`(?s)\nfunc \(w \*Welded\) Compose\(\).*?\n}\n.*?\nfunc weldedOwner\(.*?\n}\n`).FindString(string(src))
	require.NotEmpty(t, text, "Welded has no Compose with its owners")
	var out, table bytes.Buffer
	for i, m := range mutations {
		unit, name := mutants.Mistake(t, m.method+": "+m.mistake, text, m.pattern, m.with), fmt.Sprintf("M%02d", i)
		unit = regexp.MustCompile(`\bweldedOwner\b`).ReplaceAllString(unit, strings.ToLower(name)+"Owner")
		unit = regexp.MustCompile(`\*Welded\b`).ReplaceAllString(unit, "*"+name)
		fmt.Fprintf(&out, "type %s struct{ *Welded }\n%s\n", name, unit)
		fmt.Fprintf(&table, "\t{%q, func(w *Welded) *composite.Composite { return (&%s{w}).Compose() }},\n", m.method, name)
	}
	return `package differential

import (
	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

` + out.String() + "var Mutants = []struct {\n\tMethod string\n\tNew func(*Welded) *composite.Composite\n}{\n" + table.String() + "}\n"
}

// trial is the test that the mutants stand.
const trial = `package differential_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	. "github.com/grapnel-go/grapnel/internal/test/differential"
)

func TestMutant(t *testing.T) {
	for i, mutant := range Mutants {
		t.Run(fmt.Sprintf("%02d", i), rapid.MakeCheck(func(rt *rapid.T) {
			compare(rt, mutant.Method, func(w *Welded) Facade { return mutant.New(w) })
		}))
	}
}
`
