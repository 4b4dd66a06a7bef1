package schemas_test

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
)

var cases = flag.Int("cases", usual, "so many arguments are judged")

type difference struct {
	reason  string
	where   string
	because string
}

// differences are all ways in which the decoder refuses what the schema accepts: the reason that it gives, the arguments in which
// it may be given, and why the schema cannot say it. There is one the other way round: null for an optional argument that the
// schema does not let be null counts as not given. So the schema judges the arguments without it.
var differences = []difference{
	{"must not be given twice", ``, "a validator sees one of both members; which one depends on the reader"},
	{"must be an integer, written without fraction and exponent", `[0-9][.eE]`, "1.0 is an integer for JSON Schema and none for encoding/json"},
	{"must lie between -9007199254740991 and 9007199254740991", `[0-9]{16}`, "not every reader keeps the digits; the bounds would stand in every schema"},
	{"must be a number of the range of float64", `[eE]\+?[0-9]{3}`, "JSON Schema's numbers have no size"},
	{"must be a number of the range of float32", `[eE]\+?[0-9]{2}`, "JSON Schema's numbers have no size"},
	{"must not contain half a surrogate pair", `\\u[dD][89a-fA-F]`, "a reader replaces it before a validator sees it"},
	{"must be valid UTF-8", `[\x{80}-\x{10ffff}]`, "a reader replaces it before a validator sees it"},
	{"must not contain the character U+0000", `\\u0000`, "databases and C programs end there"},
	{"must not be nested deeper than 64 levels", `\[{30}`, "no schema can count levels"},
	{"must be an integer in quotes, in range", `"-?[0-9]{19}`, "a pattern cannot compare"},
	{"must be an integer of at least 0 in quotes, in range", `"[0-9]{20}`, "a pattern cannot compare"},
	{"must lie between 0 and 65535", `"[0-9]{5}`, "a pattern cannot compare; only for numbers in quotes"},
	{"must be a duration as in 1m30s", `([0-9][a-z.]*){7}`, "290 years, which a pattern cannot count"},
	{"must be base64 with padding", ``, "validators differ about line ends and about bits that nobody uses"},
	{"must be a time as in 2006-01-02T15:04:05Z", `:60|[tz]`, "Go's time knows no leap seconds and no t and z in lower case"},
	{"must have the format date-time", `:60|[tz]`, "Go's time knows no leap seconds and no t and z in lower case"},
	{"must have the format time", `:60|z`, "Go's time knows no leap seconds and no z in lower case"},
	{"must have the format email", `"|\[|\.`, "quoted local parts, addresses in brackets and the dot of the root, which nobody has"},
	{"must have the format hostname", `\.`, "the dot of the root, and this judge counts 253 characters without it"},
	{"must have the format ipv4", `\+`, "this judge takes a sign"},
	{"must have the format uri", ``, "this judge takes characters that RFC 3986 wants escaped"},
	{"must be a value that its type can read", ``, "what a type's own method refuses is known to nobody else"},
}

var places = sync.OnceValue(func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, d := range differences {
		out = append(out, regexp.MustCompile(d.where))
	}
	return out
})

// judged is one tool with its schema as somebody else reads it.
type judged struct {
	message.Tool
	schema map[string]any
	judge  *jsonschema.Schema
	bind   func(*hook.ToolCall) (inv hook.Invocation, owned bool)
}

func compile(t testing.TB, text message.JSON) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	require.NoError(t, c.AddResource("mem://schema", doc))
	out, err := c.Compile("mem://schema")
	require.NoError(t, err, text)
	return out
}

func tools(t testing.TB) []judged {
	t.Helper()
	var out []judged
	for _, tool := range new(schemas.Rich).Schema() {
		if tool.Annotations.ReadOnly {
			continue // a result, no input
		}
		j := judged{Tool: tool, judge: compile(t, tool.Input), bind: func(call *hook.ToolCall) (hook.Invocation, bool) {
			return new(schemas.Rich).Dispatch(context.Background(), call)
		}}
		require.NoError(t, json.Unmarshal([]byte(tool.Input), &j.schema))
		out = append(out, j)
	}
	require.Len(t, out, 6)
	return out
}

// beyond are numbers that the judge cannot read: it panics.
var beyond = regexp.MustCompile(`[eE][-+]?[0-9]{7}`)

var escape = regexp.MustCompile(`\\u00[2-7][0-9a-f]`)

// unescaped writes characters of ASCII as themselves, so that one expression finds both spellings.
func unescaped(text string) string {
	return escape.ReplaceAllStringFunc(text, func(s string) string {
		var c string
		if json.Unmarshal([]byte(`"`+s+`"`), &c) != nil {
			return s
		}
		return c
	})
}

// twice reports whether a name is given twice somewhere.
func twice(text string) bool {
	v := jsontext.Value(text)
	return !v.IsValid(jsontext.AllowInvalidUTF8(true)) && v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// compare asks both about one text, and returns the reason if it is a difference that has a name.
func (j judged) compare(t testing.TB, text string) (reason string, valid bool) {
	t.Helper()
	if beyond.MatchString(text) {
		return "", false
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	v = without(v, j.schema, forbidsNull)
	valid = err == nil && j.judge.Validate(v) == nil
	call := hook.NewToolCall(hook.ToolCallData{Tool: j.Tool, Args: message.JSON(text)})
	inv, owned := j.bind(call)
	require.True(t, owned)
	bad := inv.Err()
	switch {
	case text == "": // providers send it for {}
		return "", false
	case bad == nil && valid:
		j.canonical(t, text, inv.Args())
		return "", valid
	case bad != nil && !valid:
		return "", valid
	case bad == nil:
		t.Fatalf("%s: accepted against the schema: %s\n%v", j.Name, text, j.judge.Validate(v))
	}
	if twice(text) { // what is wrong may be the one that the judge does not see
		return differences[0].reason, valid
	}
	for i, d := range differences {
		if i > 0 && strings.HasPrefix(bad.Reason, d.reason) && places()[i].MatchString(unescaped(text)) {
			return d.reason, valid
		}
	}
	t.Fatalf("%s: refused against the schema: %s\n%v", j.Name, text, bad)
	return "", valid
}

// canonical checks that canonical arguments have the values that were sent, and no null that counts as not given.
func (j judged) canonical(t testing.TB, text string, canonical message.JSON) {
	t.Helper()
	sent, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	kept, err := jsonschema.UnmarshalJSON(strings.NewReader(string(canonical)))
	require.NoError(t, err)
	require.Equal(t, without(sent, j.schema, countsAsAbsent), kept, "%s: %s", j.Name, text)
}

// without returns a value without the properties that are null, not required, and of which absent says that null does not count.
// It follows the schema and knows nothing of the Go types.
func without(value any, schema map[string]any, absent func(name string, property map[string]any) bool) any {
	switch v := value.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range v {
			v[i] = without(v[i], items, absent)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		values, _ := schema["additionalProperties"].(map[string]any)
		for name := range v {
			property, known := properties[name].(map[string]any)
			switch {
			case !known:
				v[name] = without(v[name], values, absent)
			case v[name] == nil && !slices.Contains(required, any(name)) && absent(name, property):
				delete(v, name)
			default:
				v[name] = without(v[name], property, absent)
			}
		}
	}
	return value
}

func forbidsNull(_ string, property map[string]any) bool {
	switch typ := property["type"].(type) {
	case string:
		return typ != "null"
	case []any:
		return !slices.Contains(typ, any("null"))
	}
	return false
}

// countsAsAbsent is true of every optional argument, but of those whose Go value tells null from nothing.
func countsAsAbsent(name string, _ map[string]any) bool {
	return !slices.Contains([]string{"raw", "json", "rest"}, name)
}

// Schema and decoder accept the same arguments, apart from the differences that have a name and a reason.
func TestSchemaAndDecoderAgree(t *testing.T) {
	all := tools(t)
	for _, j := range all {
		t.Run(j.Name, func(t *testing.T) {
			t.Parallel()
			n := &near{Rand: rand.New(rand.NewPCG(1, 2))}
			valid, refused := 0, 0
			for i := range *cases / len(all) {
				n.wrong = []int{0, 1, 1, 3}[i%4]
				if _, ok := j.compare(t, n.value(j.schema, 0)); ok {
					valid++
				} else {
					refused++
				}
			}
			assert.Greater(t, valid, *cases/500, "%d refused", refused)
			assert.Greater(t, refused, *cases/500, "%d valid", valid)
		})
	}
}

// Every difference in the table is one: the cases produce it.
func TestEveryDifferenceIsOne(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	n := &near{Rand: rand.New(rand.NewPCG(3, 4))}
	all := tools(t)
	for i := range min(usual, 40_000) {
		n.wrong = []int{0, 1, 3, 6}[i%4]
		j := all[i%len(all)]
		reason, _ := j.compare(t, n.value(j.schema, 0))
		seen[reason] = true
	}
	for _, d := range differences {
		assert.True(t, seen[d.reason], "no case for %q", d.reason)
		assert.NotEmpty(t, d.because)
	}
}

func FuzzSchemaAndDecoder(f *testing.F) {
	all := tools(f)
	n := &near{Rand: rand.New(rand.NewPCG(5, 6)), wrong: 1}
	for i := range 120 {
		f.Add(uint8(i), n.value(all[i%len(all)].schema, 0))
	}
	f.Fuzz(func(t *testing.T, tool uint8, text string) {
		j := all[int(tool)%len(all)]
		j.compare(t, text)
	})
}
