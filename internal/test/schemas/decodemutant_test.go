package schemas_test

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

// misreading is one mistake that an emitter could make in the function that reads a type: mostly about null, which an optional
// argument may be and a required one may not. The tool and a path of properties say where its schema stands. An empty pattern
// stands for no mistake, and the mutant must survive.
type misreading struct{ typ, place, mistake, pattern, with string }

var misreadings = []misreading{
	{"Texts", "texts", "none", "", ""},
	{"Numbers", "numbers", "none", "", ""},
	{"Nested", "nested", "none", "", ""},
	{"Leaf", "nested.leaf", "none", "", ""},
	{"Special", "special", "none", "", ""},
	{"Texts", "texts", "null for a required string", `o\.Once\(0\)\s+(in\.Free = .*)`, "if o.Given(0) {\n$1\n}"},
	{"Texts", "texts", "null for a required string is empty", `o\.Once\(0\)\s+(in\.Free = .*)`, "if o.Once(0); !d.Null() {\n$1\n}"},
	{"Numbers", "numbers", "null for a required number", `o\.Once\(0\)\s+(in\.I = .*)`, "if o.Given(0) {\n$1\n}"},
	{"Leaf", "nested.leaf", "null for a required number below", `o\.Once\(0\)((?s:.*?))\n\t\tcase`, "if o.Given(0) {$1\n}\ncase"},
	{"Nested", "nested", "null for a required object", `o\.Once\(2\)\s+(decodeLeaf.*)`, "if o.Given(2) {\n$1\n}"},
	{"Nested", "nested", "null for an element", `(decodeLeaf\(d, &item\)\s+in\.Leaves)`, "if d.Null() { continue }\n$1"},
	{"Nested", "nested", "null for a value of a map", `(decodeLeaf\(d, &item\)\s+in\.ByName)`, "if d.Null() { continue }\n$1"},
	{"Texts", "texts", "null for a required pointer counts as absent", `o\.Once\(3\)\s+if !d\.Null\(\)`, `if o.Given(3)`},
	{"Texts", "texts", "null for an optional string is refused", `if o\.Given\(1\)`, `if o.Once(1); true`},
	{"Nested", "nested", "null for an optional list is refused", `if o\.Given\(4\)`, `if o.Once(4); true`},
	{"Leaf", "nested.leaf", "null for an optional enum below is refused", `if o\.Given\(1\)`, `if o.Once(1); true`},
	{"Texts", "texts", "null for an optional string is kept", `if o\.Given\(1\)`, `if o.Once(1); !d.Null()`},
	{"Texts", "texts", "null for an optional pointer is kept", `if o\.Given\(2\)`, `if o.Once(2); !d.Null()`},
	{"Special", "special", "null for a raw value counts as absent", `o\.Once\(4\)\s+(in\.Raw = .*)`, "if o.Given(4) {\n$1\n}"},
	{"Texts", "texts", "a required string may be missing", `o\.Require\(0, "free"\)`, ``},
	{"Texts", "texts", "a limit is not checked", `d\.MaxLen\(in\.Short, 4\)`, ``},
}

// Every mistake in the table is seen by the judge of schemas: each mutant fails the comparison that the originals pass.
func TestMisreadingsAreKilled(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	for i, killed := range mutants.Killed(t, len(misreadings), misread(t), readingTrial) {
		m := misreadings[i]
		assert.Equal(t, m.pattern != "", killed, "%d: %s: %s", i, m.typ, m.mistake)
	}
}

// misread returns a function for each mistake, and the list of them.
func misread(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("hook_gen.go")
	require.NoError(t, err)
	var out, table bytes.Buffer
	for i, m := range misreadings {
		unit := string(regexp.MustCompile(`(?ms)^func decode` + m.typ + `\(.*?^\}\n`).Find(src))
		require.NotEmpty(t, unit, "no function reads %s", m.typ)
		unit = mutants.Mistake(t, m.typ+": "+m.mistake, unit, m.pattern, m.with)
		name := fmt.Sprintf("mutant%02d", i)
		out.WriteString(strings.Replace(unit, "decode"+m.typ+"(", name+"(", 1) + "\n")
		fmt.Fprintf(&table, "\t{%q, func(call *hook.ToolCall) (hook.Invocation, bool) {\n\t\tvar in %s\n\t\td := args.New(call, \"\")\n\t\t%s(&d, &in)\n\t\treturn d.Bind(idle{}), true\n\t}},\n",
			m.place, m.typ, name)
	}
	fmt.Fprintf(&out, "var Mutants = []struct {\n\tPlace string\n\tBind func(*hook.ToolCall) (hook.Invocation, bool)\n}{\n%s}\n", &table)
	return "package schemas\n\nimport (\n\t\"context\"\n\t\"encoding/json\"\n\t\"net/netip\"\n\t\"time\"\n\n\t\"github.com/grapnel-go/grapnel/composite/args\"\n\t\"github.com/grapnel-go/grapnel/hook\"\n\t\"github.com/grapnel-go/grapnel/hook/message\"\n)\n\n" +
		out.String() + `
var _ json.RawMessage
var _ time.Time
var _ netip.Addr

type idle struct{}

func (idle) Run(context.Context, *hook.Env) message.ToolResult { return message.ToolResult{} }
`
}

// readingTrial is the test that the mutants stand.
const readingTrial = `package schemas_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
)

func TestMutant(t *testing.T) {
	all := tools(t)
	for i, mutant := range schemas.Mutants {
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
			path := strings.Split(mutant.Place, ".")
			j := all[slices.IndexFunc(all, func(j judged) bool { return j.Name == path[0] })]
			for _, name := range path[1:] {
				j.schema = j.schema["properties"].(map[string]any)[name].(map[string]any)
				text, err := json.Marshal(j.schema)
				require.NoError(t, err)
				j.judge = compile(t, message.JSON(text))
			}
			j.bind = mutant.Bind
			n := &near{Rand: rand.New(rand.NewPCG(1, 2))}
			for i := range 4000 {
				n.wrong = []int{0, 1, 1, 3}[i%4]
				j.compare(t, n.value(j.schema, 0))
			}
		})
	}
}
`
