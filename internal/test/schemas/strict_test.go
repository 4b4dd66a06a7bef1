package schemas_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
)

// What two readers could understand differently is refused by generated code, with path and expectation, and the error brings the
// schema along. An empty error is a near case that is accepted.
func TestStrictness(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, tool, args, err string }{
		{"key twice", "nested", `{"author":"a","author":"b"}`, "author: must not be given twice"},
		{"key twice by an escape", "nested", `{"author":"a","\u0061uthor":"b"}`, "author: must not be given twice"},
		{"key twice below", "nested", `{"author":"a","leaf":{"n":1,"n":2}}`, "leaf.n: must not be given twice"},
		{"key twice in a map", "nested", `{"author":"a","leaf":{"n":1},"by_name":{"x":{"n":1},"x":{"n":2}}}`, "by_name.x: must not be given twice"},
		{"key twice where anything goes", "special", `{"any":{"a":{"b":1,"b":2}}}`, "any.a.b: must not be given twice"},
		{"keys of a map that differ in case", "nested", `{"author":"a","leaf":{"n":1},"by_name":{"x":{"n":1},"X":{"n":2}}}`, ""},
		{"other case", "nested", `{"Author":"a"}`, "Author: is not known here; did you mean author?"},
		{"other case beside", "nested", `{"author":"a","AUTHOR":"b"}`, "AUTHOR: is not known here; did you mean author?"},
		{"unknown", "nothing", `{"a":1}`, "a: is not known here: nothing may be given"},
		{"more behind", "nothing", `{}{}`, "must be one JSON object with nothing after it: there is more behind byte 2"},
		{"a comma behind", "nothing", `{},`, "must be one JSON object with nothing after it"},
		{"a zero byte behind", "nothing", "{}\x00", "must be one JSON object with nothing after it"},
		{"blanks around", "nothing", " \t\r\n{ } \n", ""},
		{"byte order mark", "nothing", "\ufeff{}", "must be valid JSON"},
		{"no object", "nothing", `null`, "must be an object, not null"},
		{"the empty text", "nothing", ``, ""},
		{"cut off", "nested", `{"author":"a`, "author: must be complete JSON: the text ends too early"},
		{"comment", "nothing", `{/**/}`, "must be valid JSON"},
		{"comma at the end", "numbers", `{"i":1,}`, "must be valid JSON: invalid character"},
		{"one quote", "nothing", `{'a':1}`, "must be valid JSON"},
		{"beyond int8", "numbers", `{"i":1,"i8":128}`, "i8: must lie between -128 and 127"},
		{"the end of int8", "numbers", `{"i":1,"i8":-128}`, ""},
		{"beyond uint16", "numbers", `{"i":1,"u16":65536}`, "u16: must lie between 0 and 65535"},
		{"below zero", "numbers", `{"i":1,"u":-1}`, "u: must be at least 0"},
		{"beyond 2^53", "numbers", `{"i":9007199254740992}`, "i: must lie between -9007199254740991 and 9007199254740991"},
		{"the end of 2^53", "numbers", `{"i":-9007199254740991}`, ""},
		{"beyond 2^53 in quotes", "numbers", `{"i":1,"qi":"9223372036854775807"}`, ""},
		{"beyond int64 in quotes", "numbers", `{"i":1,"qi":"9223372036854775808"}`, "qi: must be an integer in quotes, in range"},
		{"beyond 2^53 where anything goes", "special", `{"json":[9007199254740993]}`, "json[0]: must lie between"},
		{"beyond float64", "numbers", `{"i":1,"f":1e400}`, "f: must be a number of the range of float64"},
		{"beyond float32", "numbers", `{"i":1,"small":-1e39}`, "small: must be a number of the range of float32"},
		{"no integer", "numbers", `{"i":1.0}`, "i: must be an integer, written without fraction and exponent"},
		{"leading zero", "numbers", `{"i":01}`, "must be valid JSON: invalid character '1'"},
		{"plus", "numbers", `{"i":+1}`, "i: must be valid JSON"},
		{"minus zero", "numbers", `{"i":-0,"u":-0}`, ""},
		{"a string for a number", "numbers", `{"i":"1"}`, "i: must be an integer"},
		{"a number for a string", "texts", `{"free":1}`, "free: must be a string"},
		{"null for a string", "texts", `{"free":null}`, "free: must be a string, not null"},
		{"lone high surrogate", "texts", `{"free":"\ud83d","filled":"a"}`, "free: must not contain half a surrogate pair"},
		{"lone low surrogate", "texts", `{"free":"\ude00","filled":"a"}`, "free: must not contain half a surrogate pair"},
		{"surrogates in the wrong order", "texts", `{"free":"\ude00\ud83d","filled":"a"}`, "free: must not contain half a surrogate pair"},
		{"surrogate pair", "texts", `{"free":"\ud83d\ude00","filled":"a"}`, ""},
		{"U+0000", "texts", `{"free":"a\u0000","filled":"a"}`, "free: must not contain the character U+0000"},
		{"invalid UTF-8", "texts", "{\"free\":\"\xff\",\"filled\":\"a\"}", "free: must be valid UTF-8"},
		{"control character", "texts", "{\"free\":\"\n\",\"filled\":\"a\"}", "free: must be valid JSON: invalid character"},
		{"too deep", "special", `{"any":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "must not be nested deeper than 64 levels"},
		{"deep", "special", `{"any":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, ""},
		{"missing", "texts", `{"filled":"a"}`, "free: is required"},
		{"missing, though null would do", "texts", `{"free":""}`, "filled: is required"},
		{"null where it may be", "texts", `{"free":"","filled":null}`, ""},
		{"null for what is optional", "texts", `{"free":"","filled":"a","short":null,"long":null,"priority":null,"words":null,"address":null}`, ""},
		{"null for what is optional, below", "nested",
			`{"author":"a","leaf":{"n":1,"unit":null},"leaves":[{"n":1,"unit":null}],"by_name":{"x":{"n":1,"unit":null}},"a":{"b":null}}`, ""},
		{"null for what is optional, deeper", "nested", `{"author":"a","leaf":{"n":1},"a":{"b":{"c":null}}}`, ""},
		{"null for what is optional in a form of its own", "special", `{"own":null,"points":[{"x":1,"when":null,"rest":null}],"even":null}`, ""},
		{"null for what is required, below", "nested", `{"author":"a","leaf":{"n":null}}`, "leaf.n: must be an integer, not null"},
		{"null for what is required in a list", "nested", `{"author":"a","leaf":{"n":1},"leaves":[{"n":1},{"n":null}]}`, "leaves[1].n: must be an integer, not null"},
		{"null for what is required in a form of its own", "special", `{"points":[{"x":null}]}`, "points[0].x: must be an integer, not null"},
		{"null for an element", "nested", `{"author":"a","leaf":{"n":1},"leaves":[null]}`, "leaves[0]: must be an object, not null"},
		{"null for a value of a map", "nested", `{"author":"a","leaf":{"n":1},"by_name":{"x":null}}`, "by_name.x: must be an object, not null"},
		{"null for an object that is required", "nested", `{"author":"a","leaf":null}`, "leaf: must be an object, not null"},
		{"missing far below", "nested", `{"author":"a","leaf":{"n":1},"a":{"b":{"c":[{"d":{"k":{}}}]}}}`, "a.b.c[0].d.k.e: is required"},
		{"enum", "texts", `{"free":"","filled":"a","priority":"high"}`, "priority: must be one of low, normal, \"é\u2028/"},
		{"enum of integers", "numbers", `{"i":1,"level":2}`, "level: must be one of 0, 1, -1"},
		{"one form of several", "special", `{"own":7}`, "own: must be a string or an array"},
		{"its own rule", "special", `{"even":3}`, "even: must be a value that its type can read"},
	}
	input := map[string]message.JSON{}
	for _, tool := range new(schemas.Rich).Schema() {
		input[tool.Name] = tool.Input
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tt.tool}, Args: message.JSON(tt.args)})
			inv, owned := new(schemas.Rich).Dispatch(t.Context(), call)
			require.True(t, owned)
			if tt.err == "" {
				require.Nil(t, inv.Err())
				require.NotNil(t, inv.Runner())
				return
			}
			require.NotNil(t, inv.Err(), "accepted")
			want := tt.tool + ": invalid argument " + tt.err
			if strings.HasPrefix(tt.err, "must ") || strings.Contains(tt.name, "too deep") {
				want = tt.tool + ": invalid argument"
				assert.Contains(t, inv.Err().Error(), tt.err)
			}
			assert.True(t, strings.HasPrefix(inv.Err().Error(), want), "got %s, want %s", inv.Err(), want)
			assert.Nil(t, inv.Runner())
			assert.Equal(t, input[tt.tool], inv.Err().Schema)
			assert.Equal(t, message.FailArguments, inv.Err().Result().Failure)
		})
	}
}

// A default stands where the argument is missing or null, at every depth, and nowhere else.
func TestDefaults(t *testing.T) {
	t.Parallel()
	r := new(schemas.Rich)
	invoke := func(tool, args string) any {
		call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tool}, Args: message.JSON(args)})
		inv, _ := r.Dispatch(t.Context(), call)
		require.Nil(t, inv.Err())
		require.False(t, inv.Runner().Run(t.Context(), &hook.Env{Call: call}).IsError())
		return r.Got
	}
	texts := invoke("texts", `{"free":"","filled":null}`).(schemas.Texts)
	assert.Equal(t, schemas.Normal, texts.Priority)
	assert.Equal(t, schemas.Low, invoke("texts", `{"free":"","filled":null,"priority":"low"}`).(schemas.Texts).Priority)
	assert.Equal(t, schemas.Normal, invoke("texts", `{"free":"","filled":null,"priority":null}`).(schemas.Texts).Priority)
	nested := invoke("nested", `{"author":"a","leaf":{"n":1},"leaves":[{"n":2},{"n":3,"unit":"normal"}],"by_name":{"x":{"n":4}}}`).(schemas.Nested)
	assert.Equal(t, schemas.Leaf{N: 1, Unit: schemas.Low}, nested.Leaf)
	assert.Equal(t, []schemas.Leaf{{N: 2, Unit: schemas.Low}, {N: 3, Unit: schemas.Normal}}, nested.Leaves)
	assert.Equal(t, map[string]schemas.Leaf{"x": {N: 4, Unit: schemas.Low}}, nested.ByName)
	assert.Nil(t, nested.Maybe)
}
