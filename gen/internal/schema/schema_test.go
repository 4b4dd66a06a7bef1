package schema_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// world type-checks test sources; the importer is shared because it is slow.
type world struct {
	mu       sync.Mutex
	fset     *token.FileSet
	importer types.Importer
}

var shared = sync.OnceValue(func() *world {
	root, err := exec.Command("go", "env", "GOROOT").Output() // with -trimpath a program does not know it
	if err != nil {
		panic(err)
	}
	build.Default.GOROOT = strings.TrimSpace(string(root))
	fset := token.NewFileSet()
	return &world{fset: fset, importer: importer.ForCompiler(fset, "source", nil)}
})

// load returns the model of type In of the source.
func load(t *testing.T, src string) (*schema.Object, []diag.Problem) {
	t.Helper()
	w := shared()
	w.mu.Lock()
	defer w.mu.Unlock()
	file, err := parser.ParseFile(w.fset, "in.go", "package in\n"+src, parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: w.importer}
	pkg, err := conf.Check("example.com/in", w.fset, []*ast.File{file}, info)
	require.NoError(t, err)
	docs := map[types.Object]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok {
			for _, name := range f.Names {
				docs[info.Defs[name]] = f.Doc.Text()
			}
		}
		return true
	})
	in := pkg.Scope().Lookup("In")
	require.NotNil(t, in)
	return schema.New(pkg, in.Type(), schema.Source{
		Position: w.fset.Position,
		Doc:      func(v *types.Var) string { return docs[v] },
		Open:     func(n *types.TypeName) bool { return n.Name() == "OpenSet" },
	})
}

func errorsOf(problems []diag.Problem) []string {
	var out []string
	for _, p := range problems {
		if p.Severity == diag.Error {
			out = append(out, fmt.Sprintf("%d: %s: %s", p.Pos.Line, p.Code, p.Message()))
		}
	}
	return out
}

func TestSchema(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, src, props, required string }{
		{"empty", `type In struct{}`, ``, ``},
		{"description and order", "type In struct {\n// Zed comes\n// first.\n//\n// Then more \"quoted\" <b> & `ticks`.\nZed string `json:\"zed\"`\nA int `json:\"a\"`}",
			`"zed":{"type":"string","description":"Zed comes first.\nThen more \"quoted\" <b> & ` + "`ticks`" + `."},"a":{"type":"integer"}`, `"zed","a"`},
		{"no tag", "type In struct { Title string }", `"Title":{"type":"string"}`, `"Title"`},
		{"not required", "type In struct { A string `json:\"a,omitempty\"`; B string `json:\"b,omitzero\"`; C *string `json:\"c\"`; D string `json:\",omitzero\"` }",
			`"a":{"type":"string"},"b":{"type":"string"},"c":{"type":["string","null"]},"D":{"type":"string"}`, ``},
		{"required all the same", "type In struct { A string `json:\"a,omitzero\" hook:\"required\"`; C *int `json:\"c\" hook:\"required\"` }",
			`"a":{"type":"string"},"c":{"type":["integer","null"]}`, `"a","c"`},
		{"left out", "type In struct { A string `json:\"-\"`; b int; C string `json:\"-,\"` }", `"-":{"type":"string"}`, `"-"`},
		{"numbers", "type In struct { A int8; B uint; C uint32; D float64; E int64 `json:\",string\"`; F bool `json:\",string\"`; G float32 `json:\",string\"`; H uint8 `json:\",string\"` }",
			`"A":{"type":"integer","minimum":-128,"maximum":127},"B":{"type":"integer","minimum":0},"C":{"type":"integer","minimum":0,"maximum":4294967295},` +
				`"D":{"type":"number"},"E":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)$"},"F":{"type":"string","enum":["true","false"]},` +
				`"G":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?$"},"H":{"type":"string","pattern":"^(0|[1-9][0-9]*)$"}`,
			`"A","B","C","D","E","F","G","H"`},
		{"special", "import (\"time\"; \"encoding/json\"; \"github.com/grapnel-go/grapnel/hook/message\")\ntype In struct { A time.Time; B time.Duration; C []byte; D json.RawMessage; E any; F message.JSON; G bool }",
			`"A":{"type":"string","format":"date-time"},"B":{"type":"string","pattern":"^-?([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+$"},` +
				`"C":{"type":"string","contentEncoding":"base64"},"D":{},"E":{},"F":{},"G":{"type":"boolean"}`, `"A","B","C","D","E","F","G"`},
		{"lists and maps", "type Key string\ntype In struct { A []string; B map[string]int; C [][]bool; D map[Key]*int }",
			`"A":{"type":"array","items":{"type":"string"}},"B":{"type":"object","additionalProperties":{"type":"integer"}},` +
				`"C":{"type":"array","items":{"type":"array","items":{"type":"boolean"}}},"D":{"type":"object","additionalProperties":{"type":["integer","null"]}}`,
			`"A","B","C","D"`},
		{"nested", "type Sub struct { X int `json:\"x\"`; Y *Deep `json:\"y\"` }\ntype Deep struct { Z string `json:\"z,omitzero\"` }\ntype In struct { S Sub `json:\"s\"`; L []Sub `json:\"l,omitzero\"` }",
			`"s":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":["object","null"],"properties":{"z":{"type":"string"}},"additionalProperties":false}},"required":["x"],"additionalProperties":false},` +
				`"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":["object","null"],"properties":{"z":{"type":"string"}},"additionalProperties":false}},"required":["x"],"additionalProperties":false}}`,
			`"s"`},
		{"embedded", "type base struct { A string; B string }\ntype In struct { base; B int; C string }", `"A":{"type":"string"},"B":{"type":"integer"},"C":{"type":"string"}`, `"A","B","C"`},
		{"embedded with a name", "type Base struct { A string }\ntype In struct { Base `json:\"base\"` }",
			`"base":{"type":"object","properties":{"A":{"type":"string"}},"required":["A"],"additionalProperties":false}`, `"base"`},
		{"a tag beats none", "type A struct { X string }\ntype B struct { Y int `json:\"X\"` }\ntype In struct { A; B }", `"X":{"type":"integer"}`, `"X"`},
		{"enum from constants", "type P string\nconst (Low P = \"low\"; normal P = \"normal\"; High P = \"high\"; Top P = \"high\")\ntype In struct { P P; Q *P; L []P }",
			`"P":{"type":"string","enum":["low","normal","high"]},"Q":{"type":["string","null"],"enum":["low","normal","high",null]},"L":{"type":"array","items":{"type":"string","enum":["low","normal","high"]}}`,
			`"P","L"`},
		{"enum of integers", "type P int\nconst (A P = iota+1; B)\ntype In struct { P P }", `"P":{"type":"integer","enum":[1,2]}`, `"P"`},
		{"open enum", "type OpenSet string\nconst A OpenSet = \"a\"\ntype In struct { P OpenSet }", `"P":{"type":"string"}`, `"P"`},
		{"enum by tag", "type P string\nconst (Low P = \"low\"; High P = \"high\"; Max P = \"max\")\ntype In struct { P P `hook:\"enum=max|low\"`; S string `hook:\"enum=a|b c\"`; N int `hook:\"enum=1|2\"` }",
			`"P":{"type":"string","enum":["max","low"]},"S":{"type":"string","enum":["a","b c"]},"N":{"type":"integer","enum":[1,2]}`, `"P","S","N"`},
		{"limits", "type In struct { A string `hook:\"minlen=1,maxlen=80,pattern='^[a-z]{1,3}$',format=uri\"`; B int `hook:\"min=-1,max=10\"`; C []string `hook:\"minitems=1,maxitems=3,maxlen=5\"`; D float64 `hook:\"min=0.5\"` }",
			`"A":{"type":"string","minLength":1,"maxLength":80,"pattern":"^[a-z]{1,3}$","format":"uri"},"B":{"type":"integer","minimum":-1,"maximum":10},` +
				`"C":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","maxLength":5}},"D":{"type":"number","minimum":0.5}`, `"A","B","C","D"`},
		{"default and example", "import \"time\"\ntype In struct { A int `hook:\"default=10,min=1,example=20\"`; B string `hook:\"default='a, ''b'''\"`; C time.Duration `hook:\"default=1m30s\"`; D bool `hook:\"default=true\"`; E int64 `json:\",string\" hook:\"default=5\"` }",
			`"A":{"type":"integer","minimum":1,"default":10,"examples":[20]},"B":{"type":"string","default":"a, 'b'"},` +
				`"C":{"type":"string","pattern":"^-?([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+$","default":"1m30s"},"D":{"type":"boolean","default":true},` +
				`"E":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)$","default":"5"}`, ``},
		{"alias", "type T = string\ntype In struct { A T; B *[]T }", `"A":{"type":"string"},"B":{"type":["array","null"],"items":{"type":"string"}}`, `"A"`},
		{"hidden characters", "type In struct {\n// a\u202eb\u0007 c\nA string }", `"A":{"type":"string","description":"a b c"}`, `"A"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, problems := load(t, tt.src)
			require.Empty(t, errorsOf(problems))
			want := `{"type":"object","properties":{` + tt.props + `}`
			if tt.required != "" {
				want += `,"required":[` + tt.required + `]`
			}
			assert.Equal(t, want+`,"additionalProperties":false}`, o.JSON())
			compile(t, o.JSON())
			assert.Len(t, o.Pieces(), len(o.Fields)+2, "one piece per member")
		})
	}
}

// compile lets another implementation read the schema.
func compile(t *testing.T, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("mem://in", doc))
	_, err = c.Compile("mem://in")
	require.NoError(t, err)
}

func TestNoInput(t *testing.T) {
	t.Parallel()
	var o *schema.Object
	assert.Equal(t, `{"type":"object","properties":{},"additionalProperties":false}`, o.JSON())
}

func TestProblems(t *testing.T) {
	t.Parallel()
	const head = "type In struct {\n"
	tests := []struct{ name, src, want string }{
		{"channel", head + "Done chan struct{}\n}", "3: HG034: field Done of In: chan struct{} cannot be in a tool input"},
		{"func", head + "F func()\n}", "3: HG034: field F of In: func() cannot be in a tool input"},
		{"interface", head + "F interface{ M() }\n}", "3: HG034: field F of In: interface{M()} cannot be in a tool input"},
		{"complex", head + "F complex64\n}", "3: HG034: field F of In: complex64 cannot be in a tool input"},
		{"uintptr", head + "F uintptr\n}", "3: HG034: field F of In: uintptr cannot be in a tool input"},
		{"array", head + "F [3]int\n}", "3: HG034: field F of In: [3]int cannot be in a tool input"},
		{"map of numbers", head + "F map[int]string\n}", "3: HG034: field F of In: map[int]string cannot be in a tool input"},
		{"pointer to pointer", head + "F **int\n}", "3: HG034: field F of In: a pointer to a pointer cannot be in a tool input"},
		{"in a list", head + "F []chan int\n}", "3: HG034: field F of In: chan int cannot be in a tool input"},
		{"embedded pointer", "type Base struct{ A int }\n" + head + "*Base\n}", "4: HG034: field Base of In: a struct embedded by pointer cannot be in a tool input"},
		{"decodes itself", "import \"math/big\"\n" + head + "A big.Int\n}", "4: HG035: field A of In: big.Int has its own UnmarshalJSON, so its JSON is not known here"},
		{"recursion", "type Node struct { Children []Node }\n" + head + "N Node\n}", "2: HG036: type Node refers to itself (Node -> Node): tool inputs must be finite"},
		{"recursion over two", "type A struct { B *B }\ntype B struct { A *A }\n" + head + "A A\n}", "3: HG036: type A refers to itself (A -> B -> A): tool inputs must be finite"},
		{"too deep", "type A struct { B struct { C struct { D struct { E struct { F struct { G int }}}}}}\n" + head + "A A\n}", "2: HG036: the struct lies more than 5 objects deep: models lose track of it"},
		{"same name", head + "A string `json:\"title\"`\nB string `json:\"title\"`\n}", `4: HG038: two fields of In have the JSON name "title" (A and B)`},
		{"same name but for case", head + "A string `json:\"title\"`\nB string `json:\"Title\"`\n}", `4: HG038: two fields of In have JSON names that differ only in case: "Title" (A and B)`},
		{"same name embedded", "type A struct { X int }\ntype B struct { X int }\n" + head + "A\nB\n}", `3: HG038: two fields of In have the JSON name "X" (X and X)`},
		{"unexported", head + "id string `json:\"id\"`\n}", "3: HG039: unexported field id of In has a json tag and is never set"},
		{"name for no provider", head + "A string `json:\"a b\"`\n}", `3: HG033: JSON name "a b" of field A is not valid: want ^[a-zA-Z0-9_.-]{1,64}$, which all providers accept`},
		{"json option", head + "A string `json:\"a,omitemty\"`\n}", `3: HG033: unknown json option "omitemty" of field A; did you mean "omitempty"?`},
		{"string on a string", head + "A string `json:\",string\"`\n}", "3: HG033: json option string is for numbers and booleans, A is string"},
		{"unknown word", head + "A string `hook:\"maxLen=3\"`\n}", `3: HG033: unknown constraint "maxLen"; did you mean "maxlen"?`},
		{"unknown word, nothing near", head + "A string `hook:\"banana\"`\n}", `3: HG033: unknown constraint "banana"`},
		{"word twice", head + "A string `hook:\"maxlen=3,maxlen=4\"`\n}", "3: HG033: maxlen stands twice in the tag of A"},
		{"wrong type", head + "Limit int `hook:\"maxlen=3\"`\n}", "3: HG033: maxlen is for strings, Limit is int"},
		{"wrong type of list", head + "A []string `hook:\"min=3\"`\n}", "3: HG033: min is for numbers, A is []string"},
		{"no value", head + "A string `hook:\"maxlen\"`\n}", "3: HG033: constraint maxlen needs a value: maxlen=…"},
		{"a value too much", head + "A string `hook:\"required=yes\"`\n}", "3: HG033: constraint required takes no value"},
		{"not a count", head + "A string `hook:\"maxlen=-1\"`\n}", `3: HG033: maxlen of A: "-1" is no count of at least 0`},
		{"not an integer", head + "A int `hook:\"min=1.5\"`\n}", `3: HG033: min of A: "1.5" is no integer`},
		{"out of range", head + "A int8 `hook:\"max=200\"`\n}", "3: HG033: max of A: 200 is out of the range -128 to 127"},
		{"limits crossed", head + "A int `hook:\"min=5,max=1\"`\n}", "3: HG033: the limits of A allow no value: the minimum is above the maximum"},
		{"a limit that is no number", head + "A int `hook:\"min=1,max=ten\"`\n}", "3: HG033: max of A: \"ten\" is no integer"},
		{"a length that is no number", head + "A string `hook:\"minlen=1,maxlen=ten\"`\n}", "3: HG033: maxlen of A: \"ten\" is no count of at least 0"},
		{"only a limit that is no number", head + "A int `hook:\"max=ten\"`\n}", "3: HG033: max of A: \"ten\" is no integer"},
		{"pattern", head + "A string `hook:\"pattern=(\"`\n}", "3: HG033: pattern of A: error parsing regexp: missing closing ): `(`"},
		{"pattern of Go only", head + "A string `hook:\"pattern=(?i)x\"`\n}", `3: HG033: pattern of A: (?i…) means something else in the regular expressions of JSON Schema, or nothing`},
		{"open quote", head + "A string `hook:\"pattern='a,b\"`\n}", "3: HG033: hook tag of A: pattern=: the closing quote is missing"},
		{"format", head + "A string `hook:\"format=url\"`\n}", `3: HG033: unknown format "url"; did you mean "uri"?`},
		{"default not in enum", "type P string\nconst (Low P = \"low\"; High P = \"high\")\n" + head + "A P `hook:\"default=urgent\"`\n}", `5: HG033: default of A: "urgent" is not in the enum low, high`},
		{"default beyond", head + "A int `hook:\"max=5,default=6\"`\n}", "3: HG033: default of A: 6 lies beyond min and max"},
		{"default and required", head + "A int `hook:\"required,default=6\"`\n}", "3: HG033: field A is required, so its default is never used"},
		{"default of a pointer", head + "A *int `hook:\"default=6\"`\n}", "3: HG033: default of A: a pointer has no default: nil means that nothing was given"},
		{"default of a list", head + "A []int `hook:\"default=6\"`\n}", "3: HG033: default is for single values, A is []int"},
		{"enum not a constant", "type P string\nconst Low P = \"low\"\n" + head + "A P `hook:\"enum=low|hi\"`\n}", `5: HG033: enum of A: "hi" is no constant of P`},
		{"several at once", head + "A chan int\nB func()\n}", "3: HG034: field A of In: chan int cannot be in a tool input\n4: HG034: field B of In: func() cannot be in a tool input"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := load(t, tt.src)
			assert.Equal(t, tt.want, strings.Join(errorsOf(problems), "\n"))
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	_, problems := load(t, "type In struct {\nA any\n}")
	require.Len(t, problems, 2)
	assert.Equal(t, "in.go:3:1: warning HG032: field A of In has no description", problems[0].Error())
	assert.Equal(t, "in.go:3:1: warning HG037: field A is any: the model may send anything", problems[1].Error())
}
