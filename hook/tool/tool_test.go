package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// nothing makes a tool without arguments and without an effect.
func nothing(name string) *tool.Tool {
	return tool.New(name, "Nothing happens.", func(context.Context, struct{}) (string, error) { return name, nil }, nil)
}

func TestConformance(t *testing.T) {
	hooktest.Run(t, func(*testing.T) hook.Hook {
		return tool.Set(nothing("one"), tool.New("tide", "Tide tells the tide.",
			func(context.Context, Tide) (string, error) { return "", nil }, nil))
	}, nil)
	t.Run("none", func(t *testing.T) {
		hooktest.Run(t, func(*testing.T) hook.Hook { return tool.Set() }, nil)
	})
}

// newOf is New with a function that does nothing.
func newOf[In any](name string) func() {
	return func() {
		tool.New(name, "It does nothing.", func(context.Context, In) (string, error) { return "", nil }, nil)
	}
}

type recursive struct{ Next *recursive }

type level1 struct {
	A struct {
		B struct {
			C struct {
				D struct{ E struct{ F struct{ G int } } }
			}
		}
	}
}

type byItself struct{ A string }

func (*byItself) UnmarshalJSON([]byte) error { return nil }

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func()
		want string
	}{
		"no name":               {newOf[struct{}](""), `tool: New "": the tool has no name`},
		"a bad name":            {newOf[struct{}]("a b"), `tool: New "a b": the name has to match ^[a-zA-Z0-9_-]{1,64}$`},
		"no struct":             {newOf[string]("a"), `tool: New "a": the arguments are a struct, not string`},
		"a pointer":             {newOf[*Tide]("a"), "the arguments are a struct, not *tool_test.Tide"},
		"reads itself":          {newOf[byItself]("a"), "byItself decodes itself"},
		"a field reads itself":  {newOf[struct{ A byItself }]("a"), "field A of struct { A tool_test.byItself }: tool_test.byItself has its own UnmarshalJSON"},
		"a time":                {newOf[time.Time]("a"), "decodes itself"},
		"a function":            {newOf[struct{ A func() }]("a"), "field A of struct { A func() }: func() cannot be in arguments"},
		"a channel below":       {newOf[struct{ A []map[string]chan int }]("a"), "chan int cannot be in arguments"},
		"an array":              {newOf[struct{ A [2]int }]("a"), "[2]int cannot be in arguments; use a slice"},
		"a complex number":      {newOf[struct{ A complex128 }]("a"), "complex128 cannot be in arguments"},
		"uintptr":               {newOf[struct{ A uintptr }]("a"), "uintptr cannot be in arguments"},
		"an interface":          {newOf[struct{ A error }]("a"), "error cannot be in arguments"},
		"keys that are numbers": {newOf[struct{ A map[int]string }]("a"), "map[int]string cannot be in arguments"},
		"a pointer to one":      {newOf[struct{ A **int }]("a"), "a pointer to a pointer"},
		"itself":                {newOf[recursive]("a"), "recursive refers to itself"},
		"too deep":              {newOf[level1]("a"), "lies more than 5 objects deep"},
		"unexported":            {newOf[struct{ a int }]("a"), "field a of struct { a int } is unexported"},
		"tagged and unexported": {newOf[struct {
			B int
			a int `hook:"min=1"`
		}]("a"), "field a of"},
		"embedded by pointer": {newOf[struct{ *Tide }]("a"), "embedded by pointer"},
		"one name twice": {newOf[struct {
			A int `json:"x"`
			B int `json:"X"`
		}]("a"), `fields A and B of`},
		"a bad JSON name": {newOf[struct {
			A int `json:"a b"`
		}]("a"), `the JSON name "a b" has to match`},
		"a bad JSON option": {newOf[struct {
			//lint:ignore SA5008 it is what has to be refused
			A int `json:",omitemtpy"`
		}]("a"), `unknown json option "omitemtpy"`},
		"quoted text": {newOf[struct {
			A string `json:",string"`
		}]("a"), "the json option string is for numbers and booleans"},
		"no such word": {newOf[struct {
			A int `hook:"minimum=1"`
		}]("a"), "field A of struct { A int \"hook:\\\"minimum=1\\\"\" }: minimum: there is no such word"},
		"a word twice": {newOf[struct {
			A int `hook:"min=1,min=2"`
		}]("a"), "min stands twice"},
		"a broken tag": {newOf[struct {
			A string `hook:"pattern='a"`
		}]("a"), "hook tag: pattern=: the closing quote is missing"},
		"no value": {newOf[struct {
			A int `hook:"min"`
		}]("a"), "min: its value is missing"},
		"a value too much": {newOf[struct {
			A int `hook:"required=yes"`
		}]("a"), "required: it takes no value"},
		"an empty value": {newOf[struct {
			A int `hook:"min="`
		}]("a"), "min: the value is empty"},
		"of another kind": {newOf[struct {
			A int `hook:"minlen=1"`
		}]("a"), "minlen: it is not for int"},
		"a list's of another": {newOf[struct {
			A string `hook:"minitems=1"`
		}]("a"), "minitems: it is not for string"},
		"no count": {newOf[struct {
			A string `hook:"minlen=-1"`
		}]("a"), `minlen: "-1" is no count`},
		"no number": {newOf[struct {
			A int `hook:"min=1.5"`
		}]("a"), `min: "1.5" does not fit the field: it must be an integer`},
		"blanks": {newOf[struct {
			A int `hook:"min= 1"`
		}]("a"), `min: " 1" has blanks around it`},
		"more than a number": {newOf[struct {
			A int `hook:"default='1,\"value\":2'"`
		}]("a"), "must not be given twice"},
		"beyond the type": {newOf[struct {
			A int8 `hook:"max=128"`
		}]("a"), "must lie between -128 and 127"},
		"limits in quotes": {newOf[struct {
			A int `json:",string" hook:"min=1"`
		}]("a"), "it is for numbers, not for those in quotes"},
		"crossed bounds": {newOf[struct {
			A int `hook:"min=2,max=1"`
		}]("a"), `max: "1" does not fit the field: it must be at least 2`},
		"crossed lengths": {newOf[struct {
			A string `hook:"minlen=2,maxlen=1"`
		}]("a"), "the limits leave no value"},
		"crossed counts": {newOf[struct {
			A []string `hook:"minitems=2,maxitems=1"`
		}]("a"), "the limits leave no value"},
		"no expression": {newOf[struct {
			A string `hook:"pattern=("`
		}]("a"), "pattern: error parsing regexp"},
		"an expression of Go's": {newOf[struct {
			A string `hook:"pattern=(?i)a"`
		}]("a"), "pattern: (?i…) means something else"},
		"no format": {newOf[struct {
			A string `hook:"format=url"`
		}]("a"), "format: the formats are date-time"},
		"an enum of floats": {newOf[struct {
			A float64 `hook:"enum=1|2"`
		}]("a"), "enum: it is for strings and integers"},
		"an enum of others": {newOf[struct {
			A int `hook:"enum=1|x"`
		}]("a"), `enum: "x" does not fit the field`},
		"an enum with one twice": {newOf[struct {
			A int `hook:"enum=1|1"`
		}]("a"), "enum: 1 stands twice"},
		"an enum beyond limits": {newOf[struct {
			A string `hook:"enum=a|bb,maxlen=1"`
		}]("a"), `enum: "bb" does not fit the field: it must have at most 1 character`},
		"open and enum": {newOf[struct {
			A string `hook:"enum=a,open"`
		}]("a"), "open and enum say opposite things"},
		"required with default": {newOf[struct {
			A int `hook:"required,default=1"`
		}]("a"), "its default is never used"},
		"a pointer's default": {newOf[struct {
			A *int `hook:"default=1"`
		}]("a"), "a pointer has none"},
		"a default beyond": {newOf[struct {
			A int `hook:"default=1,min=2"`
		}]("a"), `default: "1" does not fit the field: it must be at least 2`},
		"a default beside": {newOf[struct {
			A string `hook:"default=c,enum=a|b"`
		}]("a"), "must be one of a, b"},
		"no function": {func() { tool.New[struct{}, string]("a", "", nil, nil) }, "there is no function to run"},
		"a negative bound": {func() {
			tool.New("a", "", func(context.Context, struct{}) (string, error) { return "", nil }, &tool.Options{Timeout: -1})
		}, "a bound is negative"},
		"a nil tool":     {func() { tool.Set(nothing("a"), nil) }, "tool: Set: tool 1 is nil"},
		"two of a name":  {func() { tool.Set(nothing("a"), nothing("a")) }, `tool: Set: two tools are named "a"`},
		"too many names": {newOf[many]("a"), "has 65 fields, at most 64 are allowed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() { assert.Contains(t, fmt.Sprint(recover()), tt.want) }()
			tt.make()
		})
	}
}

// A struct reaches the tool with its defaults; what does not fit is refused with the schema to follow.
func TestArguments(t *testing.T) {
	t.Parallel()
	var got Tide
	s := tool.Set(tool.New("tide", "Tide tells the tide.", func(_ context.Context, in Tide) (string, error) {
		got = in
		return "", nil
	}, nil))
	inv, owned := s.Dispatch(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: s.Schema()[0], Args: `{"harbour": "Nyborg"}`}))
	require.True(t, owned)
	require.Nil(t, inv.Err())
	assert.Equal(t, message.JSON(`{"harbour":"Nyborg"}`), inv.Args())
	inv.Runner().Run(t.Context(), &hook.Env{})
	assert.Equal(t, Tide{Harbour: "Nyborg", Day: 1}, got)

	inv, _ = s.Dispatch(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: s.Schema()[0], Args: `{"harbour":"","day":32}`}))
	assert.EqualError(t, inv.Err(), "tide: invalid argument harbour: must have at least 1 character")
	assert.Equal(t, s.Schema()[0].Input, inv.Err().Schema)
	assert.Nil(t, inv.Runner())
}

// result returns the tool that answers with the value and the error, and what it answers.
func result[T any](t *testing.T, out T, err error) (message.Tool, message.ToolResult) {
	t.Helper()
	s := tool.Set(tool.New("a", "A answers.", func(context.Context, struct{}) (T, error) { return out, err }, nil))
	inv, owned := s.Dispatch(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: s.Schema()[0]}))
	require.True(t, owned)
	return s.Schema()[0], inv.Runner().Run(t.Context(), &hook.Env{})
}

type report struct {
	Name  string           `json:"name"`
	Sizes []int            `json:"sizes"`
	Next  *report2         `json:"next"`
	At    time.Time        `json:"at,omitzero"`
	By    map[string]uint8 `json:"by"`
	Left  func()           `json:"-"`
	Pair  [2]bool          `json:"pair"`
}

type report2 struct{ N int }

func TestResults(t *testing.T) {
	t.Parallel()
	_, got := result(t, "text <b>", nil)
	assert.Equal(t, message.TextResult("text <b>"), got)
	_, got = result(t, message.TextResult("whole"), nil)
	assert.Equal(t, message.TextResult("whole"), got)
	_, got = result(t, report2{N: 1}, nil)
	assert.Equal(t, message.JSONResult(`{"N":1}`), got)
	_, got = result(t, "", errors.New("it broke"))
	assert.Equal(t, message.FailedResult(message.FailOperation, "it broke"), got)
	_, got = result(t, "", &hook.ToolError{Kind: message.FailNotFound, Text: "there is none"})
	assert.Equal(t, message.FailedResult(message.FailNotFound, "there is none"), got)
}

// The schema of a result is what generated tools say, or nothing.
func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	described, _ := result(t, report{}, nil)
	assert.JSONEq(t, `{"type":"object","properties":{"name":{"type":"string"},"sizes":{"type":["null","array"],"items":{"type":"integer"}},`+
		`"next":{"type":["null","object"],"properties":{"N":{"type":"integer"}},"required":["N"],"additionalProperties":false},`+
		`"at":{"type":"string","format":"date-time"},"by":{"type":"object","additionalProperties":{"type":"integer","minimum":0,"maximum":255}},`+
		`"pair":{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2}},`+
		`"required":["name","sizes","next","by","pair"],"additionalProperties":false}`, string(described.Output))
	for name, got := range map[string]message.Tool{
		"text":           first(result(t, "", nil)),
		"a whole result": first(result(t, message.ToolResult{}, nil)),
		"JSON":           first(result(t, message.JSON("{}"), nil)),
		"anything":       first(result(t, any(1), nil)),
		"bytes":          first(result(t, struct{ A []byte }{}, nil)),
		"raw":            first(result(t, []json.RawMessage{}, nil)),
		"in quotes": first(result(t, struct {
			A int `json:",string"`
		}{}, nil)),
		"embedded":        first(result(t, struct{ report2 }{}, nil)),
		"recursive":       first(result(t, recursive{}, nil)),
		"numbers as keys": first(result(t, map[int]int{}, nil)),
		"a function":      first(result(t, struct{ A func() }{}, nil)),
	} {
		assert.Empty(t, got.Output, name)
	}
}

func first(d message.Tool, _ message.ToolResult) message.Tool { return d }

// Sets stand beside generated tools: every call reaches its owner, and a name with two owners is refused when the runtime opens.
func TestBesideGenerated(t *testing.T) {
	t.Parallel()
	b := &schemas.Beside{
		Moved: &schemas.Moved{}, Extra: tool.Set(nothing("one")), Mine: tool.Set(nothing("moved_nothing"), nothing("one")),
		More: []hook.Hook{nil, tool.Set(nothing("two"))},
	}
	c := b.Compose()
	require.NoError(t, c.Ready())
	require.Len(t, c.Schema(), 10)
	for name, want := range map[string]string{"moved_nothing": "{}", "one": "one", "my_moved_nothing": "moved_nothing", "my_one": "one", "two": "two"} {
		inv, owned := c.Dispatch(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: name}}))
		require.True(t, owned, name)
		assert.Equal(t, want, inv.Runner().Run(t.Context(), &hook.Env{}).Text(), name)
	}
}

func TestNamesWithTwoOwners(t *testing.T) {
	t.Parallel()
	moved := &schemas.Moved{}
	tests := map[string]struct {
		hook hook.Hook
		want []string
	}{
		"a generated one and a set": {&schemas.Beside{Moved: moved, Extra: tool.Set(nothing("free"), nothing("moved_nothing"))},
			[]string{`schemas.Beside: tool "moved_nothing" is provided by both Moved and Extra; give one of the fields a prefix, or the tool another name`}},
		"two sets": {&schemas.Beside{Moved: moved, Extra: tool.Set(nothing("my_a")), Mine: tool.Set(nothing("a"))},
			[]string{`tool "my_a" is provided by both Extra and Mine`}},
		"two of a group": {&schemas.Beside{Moved: moved, More: []hook.Hook{tool.Set(nothing("a")), tool.Set(nothing("b"), nothing("a"))}},
			[]string{`tool "a" is provided by both More[0] and More[1]`}},
		"one below": {&schemas.Beside{Moved: moved, Extra: &schemas.Beside{Moved: moved, Extra: tool.Set(nothing("a"))}, More: []hook.Hook{tool.Set(nothing("a"))}},
			[]string{`tool "a" is provided by both Extra.Extra and More[0]`}},
		"both below": {&schemas.Beside{Moved: moved, Mine: &schemas.Beside{Moved: moved, Extra: tool.Set(nothing("moved_nothing"))}},
			[]string{`Mine: schemas.Beside: tool "moved_nothing" is provided by both Moved and Extra`}},
		"a reserved name": {&schemas.Beside{Moved: moved, Extra: tool.Set(nothing("final_answer"))},
			[]string{`tool "final_answer" of Extra: the runtime reserves that name`}},
		"two at once": {&schemas.Beside{Moved: moved, Extra: tool.Set(nothing("moved_nothing"), nothing("multi_tool_use"))},
			[]string{"moved_nothing", "multi_tool_use"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := runtime.New(tt.hook, script.New(), nil).Open(t.Context())
			require.Error(t, err)
			for _, want := range tt.want {
				assert.Equal(t, 1, strings.Count(err.Error(), want), err.Error())
			}
		})
	}
}

// Where nothing is generated the composite itself is refused.
func TestNamesWithTwoOwnersAtRunTime(t *testing.T) {
	t.Parallel()
	_, err := composite.New(&struct{ A, B hook.Hook }{tool.Set(nothing("a")), tool.Set(nothing("a"))})
	require.ErrorContains(t, err, `"a"`)
	c, err := composite.New(&struct{ A, B hook.Hook }{tool.Set(nothing("a")), tool.Set(nothing("b"))})
	require.NoError(t, err)
	assert.NoError(t, c.Ready())
}

// many has a field more than the decoder keeps apart.
type many struct {
	A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9 int
	C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, D0, D1, D2, D3, D4, D5, D6, D7, D8, D9 int
	E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, F0, F1, F2, F3, F4, F5, F6, F7, F8, F9 int
	G0, G1, G2, G3, G4                                                             int
}
