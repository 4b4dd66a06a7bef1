package hooktest

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
)

// TestExamplesFitTheirSchema checks the made-up arguments with a validator that
// nobody here wrote.
func TestExamplesFitTheirSchema(t *testing.T) {
	cases := []struct{ name, properties, want string }{
		{"none", ``, `{}`},
		{"string", `"a":{"type":"string"}`, `{"a":"x"}`},
		{"minLength", `"a":{"type":"string","minLength":4}`, `{"a":"xxxx"}`},
		{"enum", `"a":{"type":"string","enum":["low","high"]}`, `{"a":"low"}`},
		{"const", `"a":{"const":{"x":[1]}}`, `{"a":{"x":[1]}}`},
		{"date-time", `"a":{"type":"string","format":"date-time"}`, `{"a":"2026-01-02T03:04:05Z"}`},
		{"duration", `"a":{"type":"string","pattern":"^-?([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+$"}`, `{"a":"0ns"}`},
		{"pattern", `"a":{"type":"string","pattern":"^[A-Z]{2,3}-(x|y)?\\d+.$"}`, `{"a":"AA-0x"}`},
		{"pattern of a negated class", `"a":{"type":"string","pattern":"^[^/]+$"}`, `{"a":"!"}`},
		{"nullable", `"a":{"type":["string","null"]}`, `{"a":"x"}`},
		{"integer", `"a":{"type":"integer"}`, `{"a":1}`},
		{"from 3 to 7", `"a":{"type":"integer","minimum":3,"maximum":7}`, `{"a":3}`},
		{"below 0", `"a":{"type":"integer","exclusiveMaximum":0}`, `{"a":-1}`},
		{"above 0", `"a":{"type":"number","exclusiveMinimum":0}`, `{"a":1}`},
		{"above 1", `"a":{"type":"number","exclusiveMinimum":1}`, `{"a":1.5}`},
		{"a multiple", `"a":{"type":"integer","minimum":10,"multipleOf":4}`, `{"a":12}`},
		{"boolean", `"a":{"type":"boolean"}`, `{"a":false}`},
		{"array", `"a":{"type":"array","items":{"type":"string"}}`, `{"a":[]}`},
		{"two items", `"a":{"type":"array","minItems":2,"items":{"type":"integer"}}`, `{"a":[1,1]}`},
		{"object", `"a":{"type":"object","properties":{"b":{"type":"string"},"c":{"type":"string"}},"required":["b"],"additionalProperties":false}`, `{"a":{"b":"x"}}`},
		{"map", `"a":{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":{}}`},
		{"anyOf", `"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `{"a":1}`},
		{"oneOf", `"a":{"oneOf":[{"type":"integer"},{"type":"string"}]}`, `{"a":1}`},
		{"anything", `"a":{}`, `{"a":null}`},
		{"true", `"a":true`, `{"a":null}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			required := `["a"]`
			if c.properties == "" {
				required = `[]`
			}
			text := message.JSON(`{"type":"object","properties":{` + c.properties + `},"required":` + required + `,"additionalProperties":false}`)
			in, err := parseSchema(text)
			require.NoError(t, err)
			assert.Equal(t, message.JSON(c.want), in.example())

			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			require.NoError(t, err)
			compiler := jsonschema.NewCompiler()
			require.NoError(t, compiler.AddResource("tool.json", doc))
			compiled, err := compiler.Compile("tool.json")
			require.NoError(t, err)
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(in.example())))
			require.NoError(t, err)
			assert.NoError(t, compiled.Validate(value))
			for _, g := range garbageFor(in, in.example()) {
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(g.args))
				strict := strings.Contains(g.name, "repeated") || strings.Contains(g.name, "UTF-8")
				if err == nil && !strict {
					assert.Error(t, compiled.Validate(value), "%s fits the schema after all", g.name)
				}
			}
		})
	}
}

func TestParseSchema(t *testing.T) {
	for name, c := range map[string]struct{ text, err string }{
		"unknown type below": {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"text"}}}}`, `a[]: unknown type "text"`},
		"type is a number":   {`{"type":"object","properties":{"a":{"type":1}}}`, "is no JSON Schema"},
		"required twice":     {`{"type":"object","properties":{"a":{}},"required":["a","a"]}`, `names "a" twice`},
		"bad pattern":        {`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`, "a: pattern"},
		"nullable object":    {`{"type":["object","null"]}`, `instead of "object"`},
		"no type":            {`{}`, `instead of "object"`},
		"good":               {`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"$ref":"#/$defs/x"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseSchema(message.JSON(c.text))
			if c.err == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.err)
		})
	}
}

func TestSubset(t *testing.T) {
	in, err := parseSchema(`{"type":"object","properties":{` +
		`"ref":{"$ref":"#/x"},"bare":{},"list":{"type":"array"},"open":{"type":"object"},` +
		`"map":{"type":"object","additionalProperties":{"type":"string"}},"either":{"anyOf":[{"type":"string"},{}]}` +
		`},"anyOf":[{"type":"object","additionalProperties":false}],"additionalProperties":{"type":"string"}}`)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"at the top: anyOf, oneOf or allOf at the top",
		"at the top: additionalProperties must be false",
		"bare: has no type",
		"either(anyOf 1): has no type",
		"list: array without items",
		"open: additionalProperties is missing; it must be false, or a schema for a map",
		"ref: $ref; write the schema out in its place",
	}, in.subset(""))
	assert.Equal(t, []string{"bare", "either", "list", "map", "open", "ref"}, in.undescribed(""))
}
