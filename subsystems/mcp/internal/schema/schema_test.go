package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/schema"
)

// Null stays where the schema allows it, and counts as not given where it does not and the property is optional. The judge is the
// library: null stays if the schema of the property accepts it.
func TestNullIsNotGiven(t *testing.T) {
	t.Parallel()
	const self = ""
	for _, tt := range []struct{ property, without string }{
		{`{"type":"string"}`, `{}`},
		{`{"type":["string","null"]}`, self},
		{`{"type":"null"}`, self},
		{`{}`, self},
		{`true`, self},
		{`false`, `{}`},
		{`{"enum":["a",null]}`, self},
		{`{"enum":["a"]}`, `{}`},
		{`{"const":null}`, self},
		{`{"const":1}`, `{}`},
		{`{"minimum":3}`, self},
		{`{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`, self},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `{}`},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, self},
		{`{"oneOf":[{},{"type":"null"}]}`, `{}`},
		{`{"allOf":[{"$ref":"#/$defs/s"}]}`, `{}`},
		{`{"$ref":"#/$defs/s"}`, `{}`},
		{`{"$ref":"#/$defs/n"}`, self},
		{`{"$ref":"#/$defs/n","type":"string"}`, `{}`},
		{`{"not":{"type":"null"}}`, `{}`},
		{`{"not":{"type":"string"}}`, self},
		{`{"if":{"type":"null"},"then":{"type":"string"}}`, `{}`},
		{`{"if":{"type":"string"},"then":{"minLength":1},"else":{"type":"integer"}}`, `{}`},
		{`{"if":{"type":"string"},"else":{"type":"null"}}`, self},
	} {
		s, err := schema.Compile(message.JSON(`{"type":"object","properties":{"a":` + tt.property + `},"$defs":{"s":{"type":"string"},"n":{"type":["integer","null"]}}}`))
		require.NoError(t, err, tt.property)
		const sent = `{"a":null}`
		assert.Equal(t, tt.without == self, s.Validate(sent) == nil, "the library judges %s otherwise", tt.property)
		want := message.JSON(tt.without)
		if tt.without == self {
			want = sent
		}
		assert.Equal(t, want, s.Given(sent), tt.property)
		assert.NoError(t, s.Validate(s.Given(sent)), tt.property)
	}

	s, err := schema.Compile(`{"type":"object","required":["r"],"properties":{"r":{"type":"string"},"o":{"$ref":"#/$defs/o"},"l":{"type":"array","items":{"$ref":"#/$defs/o"}},
		"m":{"type":"object","additionalProperties":{"type":"string"}},"all":{"allOf":[{"properties":{"x":{"type":"string"}}},{"required":["y"],"properties":{"y":{"type":"string"}}}]}},
		"$defs":{"o":{"type":"object","required":["q"],"properties":{"q":{"type":"integer"},"p":{"type":"integer"},"n":{"type":["integer","null"]},"o":{"$ref":"#/$defs/o"}},"additionalProperties":false}}}`)
	require.NoError(t, err)
	for _, tt := range []struct{ name, sent, given, path string }{
		{"at every depth", `{"r":"","o":{"p":null,"q":1,"n":null,"o":{"q":2,"p":null}},"l":[{"q":1,"p":null},{"p":3,"q":4}]}`,
			`{"r":"","o":{"q":1,"n":null,"o":{"q":2}},"l":[{"q":1},{"p":3,"q":4}]}`, ""},
		{"an object", `{"o":null,"r":"","l":null,"m":null}`, `{"r":""}`, ""},
		{"in parts of allOf", `{"r":"","all":{"x":null,"y":"1"}}`, `{"r":"","all":{"y":"1"}}`, ""},
		{"numbers stay as they are written", `{"x":1.50,"r":"a,\"p\":null","o":{"q":1,"p":null}}`, `{"x":1.50,"r":"a,\"p\":null","o":{"q":1}}`, ""},
		{"required", `{"r":null}`, `{"r":null}`, "r"},
		{"required below", `{"r":"","o":{"q":null}}`, `{"r":"","o":{"q":null}}`, "o.q"},
		{"required in a list", `{"r":"","l":[{"q":null}]}`, `{"r":"","l":[{"q":null}]}`, "l[0].q"},
		{"an element", `{"r":"","l":[null]}`, `{"r":"","l":[null]}`, "l[0]"},
		{"unknown", `{"r":"","o":{"q":1,"z":null}}`, `{"r":"","o":{"q":1,"z":null}}`, "o.z"},
		{"additional, of any value", `{"r":"","z":null}`, `{"r":"","z":null}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			given := s.Given(message.JSON(tt.sent))
			assert.Equal(t, message.JSON(tt.given), given)
			err := s.Validate(given)
			if tt.path == "" {
				require.NoError(t, err)
				return
			}
			var bad *hook.ArgError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, tt.path, bad.Path)
		})
	}
}

// FuzzSchema shows that no schema of a stranger and no arguments of a model make
// this process panic, hang or run out of stack.
func FuzzSchema(f *testing.F) {
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^a"},"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"items":{"$ref":"#"}}}}`,
		`{"type":"object","allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
		`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"dependencies":{"a":["b"],"c":{"$ref":"#"}}}`,
		`{"type":"object","AllOf":[{"$Ref":"#"}],"$id":"http://x/y","$anchor":"z","propertyNames":{"$ref":"#"}}`,
		`{"type":"object","unevaluatedProperties":{"$ref":"#"},"if":{"required":["a"]},"then":{"$ref":"#/properties/a"},"properties":{"a":{"else":{"$ref":"#"}}}}`,
	} {
		f.Add(text, `{"a":{"b":[{"a":1}]},"c":null,"A":"x"}`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		s, err := schema.Compile(message.JSON(text))
		if err != nil {
			return
		}
		canonical, err := args.Canonical(value)
		if err != nil {
			return
		}
		given := s.Given(canonical)
		require.Equal(t, given, s.Given(given))
		if err := s.Validate(given); err != nil {
			var bad *hook.ArgError
			require.ErrorAs(t, err, &bad)
			require.NotEmpty(t, bad.Reason)
		}
	})
}
