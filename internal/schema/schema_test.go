package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/schema"
)

func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	doubling := `{"$defs":{"d0":{"type":"string"}`
	for i := 1; i < 30; i++ {
		doubling += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1)
	}
	doubling += `},"$ref":"#/$defs/d29"}`
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", `{"type":`, "the schema is no JSON object: unexpected end of the text; write an object: {\"type\":\"object\",\"properties\":{…}}"},
		{"a boolean", `true`, "the schema is no JSON object: must be an object"},
		{"twice", `{"type":"object","type":"string"}`, "type: given twice"},
		{"too large", `{"title":"` + strings.Repeat("x", schema.MaxSize) + `"}`, "write a smaller one, of at most 131072 bytes"},
		{"too deep", strings.Repeat(`{"items":`, 200) + "{}" + strings.Repeat("}", 200), "nests deeper than 100 levels"},
		{"a keyword of the wrong type", `{"properties":3}`, "/properties has a value that JSON Schema does not have there; write a JSON Schema (draft 2020-12)"},
		{"a keyword of the wrong type, within", `{"properties":{"a":{"items":{"anyOf":[{},{"required":"b","type":"object"}]}}}}`, "/properties/a/items/anyOf/1/required has a value that"},
		{"a type that is none", `{"$defs":{"a":{"type":7}}}`, "/$defs/a/type has a value that"},
		{"an unknown type", `{"type":"text"}`, `/type is "text", which is no type; write one of array, boolean`},
		{"elsewhere", `{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`,
			`/properties/a/$ref it refers to "https://example.com/s.json"; only references of the form #/… are followed; copy the definition into $defs`},
		{"a file", `{"$ref":"file:///etc/passwd"}`, "nothing is read from elsewhere"},
		{"elsewhere, in another case", `{"PROPERTIES":{"a":{"$REF":"https://example.com/s.json"}}}`, "nothing is read from elsewhere"},
		{"missing", `{"$ref":"#/$defs/a"}`, `/$ref it refers to "#/$defs/a", which is not there`},
		{"itself", `{"$ref":"#"}`, "it refers to itself without end; let a definition refer to itself only from properties or items"},
		{"itself, around a corner", `{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}},"$ref":"#/$defs/a"}`, "refers to itself without end"},
		{"branches", doubling, "it branches too often"},
		{"dynamic", `{"$dynamicRef":"#a"}`, `/$dynamicRef is not supported; write "$ref": "#/$defs/NAME"`},
		{"an id within", `{"properties":{"a":{"$id":"https://example.com/"}}}`, "/properties/a/$id is not supported within a schema"},
		{"a bad pattern", `{"properties":{"a/b":{"pattern":"("}}}`, "/properties/a~1b/pattern is no regular expression: "},
		{"lookahead", `{"pattern":"(?=a)"}`, "without lookahead and back references"},
		{"a bad name pattern", `{"patternProperties":{"[":{}}}`, "/patternProperties/[ is no regular expression"},
		{"a large pattern", `{"pattern":"(a{90}){9}(b{90}){9}(c{90}){9}"}`, "/pattern is a regular expression that is too large; write smaller repetitions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.Compile(message.JSON(tt.text))
			var bad *schema.Error
			require.ErrorAs(t, err, &bad)
			assert.ErrorContains(t, err, tt.want)
			assert.Less(t, len(err.Error()), 1000)
		})
	}
}

func check(t *testing.T, text, value string) string {
	t.Helper()
	s, err := schema.Compile(message.JSON(text))
	require.NoError(t, err)
	var lines []string
	for _, p := range s.Check(value) {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "; ")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const person = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":5,"pattern":"^[A-Z]"},"age":{"type":"integer","minimum":0,"maximum":150},
		"tags":{"type":"array","items":{"enum":["a","b"]},"maxItems":2,"uniqueItems":true},"home":{"anyOf":[{"$ref":"#/$defs/place"},{"type":"null"}]}},
		"required":["name","age"],"additionalProperties":false,"$defs":{"place":{"type":"object","properties":{"zip":{"const":"5800"}},"required":["zip"]}}}`
	for _, tt := range []struct{ name, schema, value, want string }{
		{"valid", person, ` {"name":"Ann","age":3,"tags":["a"],"home":{"zip":"5800"}} `, ""},
		{"null", person, `{"name":"Ann","age":3,"home":null}`, ""},
		{"empty", person, " \n", "the value must be JSON, and is empty"},
		{"prose", person, "Ann is 3", "the value must be JSON, and is none from byte 1 on"},
		{"cut", person, `{"name":"An`, "the value must be JSON, and ends too early"},
		{"cut at a member", person, `{"name"`, "the value must be JSON, and ends too early"},
		{"more", person, `{"name":"Ann","age":3} Done.`, "the value must be JSON and nothing else: there is more text from byte 22 on"},
		{"twice", person, `{"name":"Ann","age":3,"age":4}`, "/age must be given once"},
		{"a number of many digits", person, `{"name":"Ann","age":1e999}`, "the value must be JSON, with numbers that fit 64 bits"},
		{"deep", `{}`, strings.Repeat("[", 200) + strings.Repeat("]", 200), "the value must not nest deeper than 100 levels"},
		{"long", `{}`, `"` + strings.Repeat("x", schema.MaxValue) + `"`, "the value must have at most 4194304 bytes"},
		{"type", person, `[]`, "the value must be of type object"},
		{"several", person, `{"name":"","age":1.5,"x":1}`, "/age must be of type integer; /name must have at least 1 characters; /name must match the regular expression ^[A-Z]; /x is not known; known are age, home, name, tags"},
		{"required", person, `{}`, "/name is required; /age is required"},
		{"lists", person, `{"name":"Ann","age":3,"tags":["a","c","a"]}`, `/tags must have at most 2 items; /tags/1 must be one of "a", "b"; /tags/2 must differ from item 0`},
		{"behind a reference", person, `{"name":"Ann","age":3,"home":{"zip":1}}`, `/home/zip must be "5800"`},
		{"no alternative", person, `{"name":"Ann","age":3,"home":1}`, "/home must fit one of the 2 alternatives in the schema"},
		{"at most five", `{"items":{"type":"string"}}`, `[1,2,3,4,5,6,7]`,
			"/0 must be of type string; /1 must be of type string; /2 must be of type string; /3 must be of type string; /4 must be of type string"},
		{"not", `{"not":{"type":"string"}}`, `"a"`, "the value must fit the whole schema; look at not, oneOf, if and what is unevaluated there"},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, "/1 must not be there"},
		{"hostile names", `{"properties":{"` + strings.Repeat("n", 1000) + `":{}},"additionalProperties":false}`, `{"a\u001b[31m\n` + strings.Repeat("x", 1000) + `":1}`,
			"/a\ufffd[31m\ufffd" + strings.Repeat("x", 53) + "… is not known; known are " + strings.Repeat("n", 60) + "…"},
		{"any", `{}`, `null`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, check(t, tt.schema, tt.value))
		})
	}
}

// A schema that refers to itself in two branches is fine, until a value makes it exponential.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	const twofold = `{"$defs":{"n":{"anyOf":[{"items":{"$ref":"#/$defs/n"},"minItems":2},{"items":{"$ref":"#/$defs/n"},"maxItems":1}]}},"$ref":"#/$defs/n"}`
	assert.Empty(t, check(t, twofold, `[[1],[[2]]]`))
	deep := strings.Repeat("[", 90) + strings.Repeat("]", 90)
	const tooMuch = "the value is too large or nested too deeply to be checked; make it simpler"
	assert.Equal(t, tooMuch, check(t, twofold, deep))

	const listed = `{"items":{"enum":[%s0]}}`
	many := strings.Repeat("7,", 40_000)
	assert.Equal(t, tooMuch, check(t, fmt.Sprintf(listed, many), "["+many+"0]"), "many values of a long enum")

	text := `"` + strings.Repeat("a", 1<<20) + `"`
	assert.Equal(t, tooMuch, check(t, `{"pattern":"^(a?){400}$"}`, text), "a slow expression and a long text")
}
