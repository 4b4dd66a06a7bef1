package schematest_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/mutants"
	"github.com/grapnel-go/grapnel/internal/needs"
)

// mutation is one mistake that an emitter could make in the function that writes a field of Writer. It replaces the first match of a
// pattern; empty, the pattern stands for nothing and the mutant must survive.
type mutation struct{ field, mistake, pattern, with string }

var mutations = []mutation{
	{"Plain", "none: the copy behaves as the original", "", ""},
	{"Options", "none", "", ""},
	{"Parts", "none", "", ""},
	{"Selves", "none", "", ""},
	{"Plain", "a field is left out", `e\.Name\("I16"\)\..*`, ``},
	{"Plain", "two fields are swapped", `(e\.Name\("I8"\)\..*)\s+(e\.Name\("I16"\)\..*)`, "$2\n$1"},
	{"Plain", "a field has the value of another", `out\.I32`, `out.I16`},
	{"Plain", "a single is written as a double", `out\.F32\), 32`, `out.F32), 64`},
	{"Plain", "a sign is lost", `Name\("I64"\)\.Int\(out\.I64\)`, `Name("I64").Uint(uint64(out.I64))`},
	{"Plain", "bytes are text", `Bytes\(out\.Digest\)`, `String(string(out.Digest))`},
	{"Plain", "a text is not quoted", `Name\("Text"\)\.String\(out\.Text\)`, `Name("Text").Marshal(hook.JSON(out.Text))`},
	{"Options", "what is empty is written", `if out\.Text != "" \{\s+(.*)\s+\}`, `$1`},
	{"Options", "zero is taken for empty", `out\.Set != nil`, `len(out.Set) != 0`},
	{"Options", "empty is taken for nil", `len\(out\.List\) != 0`, `out.List != nil`},
	{"Options", "a type is not asked whether it is zero", `!out\.Odd\.IsZero\(\)`, `out.Odd != 0`},
	{"Options", "nil is asked whether it is zero", `out\.Until != nil && `, ``},
	{"Options", "a pointer is asked for nil only", ` && !out\.OddAt\.IsZero\(\)`, ``},
	{"Options", "a number in quotes is written without", `QuotedInt\(int64\(out\.QInt\)`, `Int(int64(out.QInt)`},
	{"Options", "null is in quotes", `e\.Name\("qsingle"\)\s+if out\.QSingle == nil \{\s+e\.Null\(\)`, "e.Name(\"qsingle\")\nif out.QSingle == nil {\ne.String(\"null\")"},
	{"Options", "a struct is left out because it is zero", `(encodeLeaf\(e\.Name\("struct"\), &out\.Struct\))`, `if out.Struct != (Leaf{}) { $1 }`},
	{"Options", "a nil list behind a pointer is empty", `if \*out\.Behind == nil`, `if false`},
	{"Parts", "a nil list is empty", `if out\.List == nil`, `if false`},
	{"Parts", "a nil map is empty", `if out\.Map == nil`, `if false`},
	{"Parts", "an empty list is null", `if out\.Leaves == nil`, `if len(out.Leaves) == 0`},
	{"Parts", "keys are not sorted", `slices\.Sorted\(maps\.Keys\(out\.Map\)\)`, `slices.Backward(slices.Sorted(maps.Keys(out.Map)))`},
	{"Parts", "a key is not quoted", `e\.Key\(key\)`, `e.Name(key)`},
	{"Parts", "a comma is left out", `e\.Next\(\)\.String\(item\)`, `e.String(item)`},
	{"Parts", "an element is the first one", `&out\.Leaves\[i\]`, `&out.Leaves[i/2]`},
	{"Parts", "a field that stands twice is written", `(e\.Name\("One"\))`, "e.Name(\"Twice\").String(out.Front.Twice)\n$1"},
	{"Parts", "an embedded struct with a name is flattened", `encodeTwin\(e\.Name\("twin"\), &out\.Twin\)`, `e.Name("ID").String(out.Twin.ID)`},
	{"Parts", "an embedded struct is not flattened", `e\.Name\("id"\)\.String\(out\.Base\.ID\)`, `encodeBase(e.Name("Base"), &out.Base)`},
	{"Parts", "a hidden field is written", `out\.Shadow\)`, `out.Base.ID)`},
	{"Parts", "the end is left out", `e\.EndObject\(\)\s+\}\s*$`, `}`},
	{"Selves", "a type is not asked what it writes", `e\.Name\("Grade"\)\.Marshal\(out\.Grade\)`, `e.Name("Grade").Int(int64(out.Grade))`},
	{"Selves", "a time is text", `e\.Name\("At"\)\.Marshal\(out\.At\)`, `e.Name("At").String(out.At.String())`},
	{"Selves", "what a type writes is not checked", `e\.Name\("Raw"\)\.Marshal\(out\.Raw\)`, `e.Name("Raw").Marshal(hook.JSON(out.Raw))`},
	{"Selves", "two errors are swapped", `(e\.Name\("At"\)\..*)((?s:.*?))(e\.Name\("Raw"\)\..*)`, "$3\n$2\n$1"},
}

// Every mistake in the table is seen by the comparison with encoding/json: the mutants are built into the test binary beside the
// functions that were generated, and each of them fails the comparison that the originals pass. The values are the same in every run.
func TestMutantsAreKilled(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	for i, killed := range mutants.Killed(t, len(mutations), mutated(t), trial, "-rapid.checks=200", "-rapid.seed=1") {
		m := mutations[i]
		assert.Equal(t, m.pattern != "", killed, "%d: %s: %s", i, m.field, m.mistake)
	}
}

// mutated returns a function for each mutation, and the list of them.
func mutated(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("hook_gen.go")
	require.NoError(t, err)
	var out, table bytes.Buffer
	for i, m := range mutations {
		unit := string(regexp.MustCompile(`(?ms)^func encode` + m.field + `\(.*?^\}\n`).Find(src))
		require.NotEmpty(t, unit, "no function writes %s", m.field)
		unit = mutants.Mistake(t, m.field+": "+m.mistake, unit, m.pattern, m.with)
		name := fmt.Sprintf("mutant%02d", i)
		out.WriteString(strings.Replace(unit, "encode"+m.field+"(", name+"(", 1) + "\n")
		fmt.Fprintf(&table, "\t{func(e *reply.Encoder, w *Writer) { %s(e, &w.%s) }, func(w *Writer) any { return &w.%[2]s }},\n", name, m.field)
	}
	fmt.Fprintf(&out, "var Mutants = []struct {\n\tWrite func(*reply.Encoder, *Writer)\n\tOf func(*Writer) any\n}{\n%s}\n", &table)
	return "package schematest\n\nimport (\n\t\"maps\"\n\t\"slices\"\n\n\t\"github.com/grapnel-go/grapnel/composite/reply\"\n\t\"github.com/grapnel-go/grapnel/hook\"\n)\n\n" +
		out.String() + "\nvar _ hook.JSON\n"
}

// trial is the test that the mutants stand.
const trial = `package schematest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/reply"
	"github.com/grapnel-go/grapnel/internal/schematest"
)

func TestMutant(t *testing.T) {
	for i, mutant := range schematest.Mutants {
		t.Run(fmt.Sprintf("%02d", i), rapid.MakeCheck(func(rt *rapid.T) {
			for _, w := range []schematest.Writer{{}, arbitrary().Draw(rt, "writer")} {
				e := reply.New()
				mutant.Write(e, &w)
				require.Equal(rt, composite.Reply(mutant.Of(&w), nil), e.Result())
			}
		}))
	}
}
`
