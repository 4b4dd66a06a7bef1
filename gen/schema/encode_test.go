package schema_test

import (
	"go/ast"
	"go/parser"
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/schema"
)

// resultTypes are the declarations that the results of TestEncoding use.
const resultTypes = `
type Named string
type Own int
func (Own) MarshalJSON() ([]byte, error) { return nil, nil }
type Behind int
func (*Behind) MarshalJSON() ([]byte, error) { return nil, nil }
type AsText int
func (AsText) MarshalText() ([]byte, error) { return nil, nil }
type Zeroer struct{ A int }
func (*Zeroer) IsZero() bool { return true }
type Mistaken struct{ A int }
func (Mistaken) IsZero() int { return 0 }
type Base struct{ A int }
type base struct{ A int }
type Tree struct{ Trees []Tree }
type Key string
func (Key) MarshalText() ([]byte, error) { return nil, nil }
type Byte byte
type Skips struct{ A func() ` + "`json:\"-\"`" + ` }
type Generic[T any] struct{ V T }
`

// What generated code writes of a result, and what it leaves to encoding/json.
func TestEncoding(t *testing.T) {
	t.Parallel()
	for out, generated := range map[string]bool{
		"string": false, "hook.JSON": false, "hook.ToolResult": false, // no JSON of ours
		"Named": true, "int": true, "uintptr": true, "float32": true, "bool": true, "[]byte": true, "*Base": true, "[]Base": true, "[3]*Base": true,
		"map[string][]int": true, "map[Named]int": true, "*map[string]Base": true, "Own": true, "*Own": true, "time.Time": true, "time.Duration": true,
		"struct{ A int; b int }": true, "struct{ A struct{ B []string } }": true, "Generic[int]": true,
		"struct{ Base }": true, "struct{ base }": true, "struct{ Base `json:\"b\"` }": true, "struct{ *Base }": false, "struct{ base `json:\"b\"` }": false,
		"struct{ A json.RawMessage; B hook.JSON; C hook.List[string] }": true, // they encode themselves, wherever they stand
		"struct{ A any }": false, "error": false, "Tree": false, "struct{ A Tree }": false, "complex128": false,
		"Behind": false, "[]Behind": false, "AsText": false, "netip.Addr": false, "json.Number": false,
		"map[int]string": false, "map[Key]string": false, "[]Byte": false, "**int": false, "*[]*int": true,
		"hook.FailureKind": false, "struct{ A hook.FailureKind }": false, "hook.Block": false, // of another module
		"url.URL":                               true, // of the standard library
		"struct{ A string `json:\",string\"` }": false, "struct{ A *string `json:\",string\"` }": false, "struct{ A int `json:\",string\"` }": true,
		"struct{ A Base `json:\",omitzero\"` }": false, "struct{ A [2]int `json:\",omitzero\"` }": false, "struct{ A [2]int `json:\",omitempty\"` }": false,
		"struct{ A Zeroer `json:\",omitzero\"` }": true, "struct{ A Mistaken `json:\",omitzero\"` }": false, "struct{ A time.Time `json:\",omitzero\"` }": true,
		"struct{ A func() `json:\",omitzero\"` }": false, "Skips": true,
	} {
		t.Run(out, func(t *testing.T) {
			t.Parallel()
			m, problems := methodOf(t, "(context.Context) ("+out+", error)")
			if m == nil {
				require.NotEmpty(t, problems)
				return
			}
			assert.Equal(t, generated, m.Encoding != nil)
		})
	}
}

// Of two fields of one name and depth none is written, also if they are one field of a struct that is embedded twice.
func TestEncodingFields(t *testing.T) {
	t.Parallel()
	for out, want := range map[string][]string{
		"struct{ A int; Base }":                          {"A"},
		"struct{ L struct{ Base }; M int `json:\"m\"` }": {"L", "m"},
		"struct{ One; Two; B int }":                      {"B"},
		"struct{ One; Base }":                            {"A"},
		"struct{ A int `json:\"a\"`; B int `json:\"-\"`; C int `json:\"-,\"` }": {"a", "-"},
	} {
		m, problems := methodOf(t, "(context.Context) ("+out+", error)")
		require.Empty(t, problems, out)
		require.NotNil(t, m.Encoding, out)
		for _, v := range []*schema.Value{m.Encoding, m.Output} {
			var got []string
			for _, f := range v.Struct.Fields {
				got = append(got, f.Name)
			}
			assert.Equal(t, want, got, out)
		}
	}
}

// methodOf reads a method of this signature, in a module of its own.
func methodOf(t *testing.T, sig string) (*schema.Method, []string) {
	t.Helper()
	w := shared()
	w.mu.Lock()
	defer w.mu.Unlock()
	src := `package in
import ("context"; "encoding/json"; "net/netip"; "net/url"; "time"; "github.com/grapnel-go/grapnel/hook")
var _ context.Context
var _ hook.Nop
var _ json.Number
var _ netip.Addr
var _ url.URL
var _ time.Time
` + resultTypes + `
type One struct{ Base }
type Two struct{ Base }
type T struct {}
func (*T) M` + sig + ` { panic(0) }`
	file, err := parser.ParseFile(w.fset, "in.go", src, 0)
	require.NoError(t, err)
	conf := types.Config{Importer: w.importer, IgnoreFuncBodies: true}
	pkg, err := conf.Check("example.com/in", w.fset, []*ast.File{file}, nil)
	require.NoError(t, err)
	fn, _, _ := types.LookupFieldOrMethod(types.NewPointer(pkg.Scope().Lookup("T").Type()), true, pkg, "M")
	m, problems := schema.NewMethod(pkg, fn.(*types.Func), schema.Source{
		Position: w.fset.Position, Ours: func(o types.Object) bool { return o.Pkg() == pkg },
	})
	return m, errorsOf(problems)
}
