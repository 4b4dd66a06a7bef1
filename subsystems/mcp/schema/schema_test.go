package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/mcp/schema"
)

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
		s, err := schema.Compile(hook.JSON(text))
		if err != nil {
			return
		}
		canonical, err := args.Canonical(value)
		if err != nil {
			return
		}
		if err := s.Validate(canonical); err != nil {
			var bad *hook.ArgError
			require.ErrorAs(t, err, &bad)
			require.NotEmpty(t, bad.Reason)
		}
	})
}
