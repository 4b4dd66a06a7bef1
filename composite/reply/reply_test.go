package reply_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/reply"
	"github.com/grapnel-go/grapnel/hook"
)

// failing cannot be written.
type failing struct{ asked *int }

func (f failing) MarshalJSON() ([]byte, error) {
	*f.asked++
	return nil, errors.New("not today")
}

// loose writes JSON with blanks.
type loose string

func (l loose) MarshalJSON() ([]byte, error) { return []byte(l), nil }

func ExampleEncoder() {
	e := reply.New()
	e.Object()
	e.Name("title").String("a <b>")
	e.Name("pages").Array()
	for _, page := range []int64{1, 2} {
		e.Next().Int(page)
	}
	e.EndArray()
	e.EndObject()
	fmt.Println(e.Result().Text())
	// Output: {"title":"a <b>","pages":[1,2]}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for want, write := range map[string]func(*reply.Encoder){
		`null`:                         (*reply.Encoder).Null,
		`true`:                         func(e *reply.Encoder) { e.Bool(true) },
		`-9223372036854775808`:         func(e *reply.Encoder) { e.Int(math.MinInt64) },
		`18446744073709551615`:         func(e *reply.Encoder) { e.Uint(math.MaxUint64) },
		`0.1`:                          func(e *reply.Encoder) { e.Float(float64(float32(0.1)), 32) },
		`0.10000000149011612`:          func(e *reply.Encoder) { e.Float(float64(float32(0.1)), 64) },
		`-0`:                           func(e *reply.Encoder) { e.Float(math.Copysign(0, -1), 64) },
		`1e-7`:                         func(e *reply.Encoder) { e.Float(1e-7, 64) },
		`1e-100`:                       func(e *reply.Encoder) { e.Float(1e-100, 64) },
		`1e+21`:                        func(e *reply.Encoder) { e.Float(1e21, 64) },
		`100000000000000000000`:        func(e *reply.Encoder) { e.Float(1e20, 64) },
		`"true"`:                       func(e *reply.Encoder) { e.QuotedBool(true) },
		`"-1"`:                         func(e *reply.Encoder) { e.QuotedInt(-1) },
		`"1"`:                          func(e *reply.Encoder) { e.QuotedUint(1) },
		`"0.5"`:                        func(e *reply.Encoder) { e.QuotedFloat(0.5, 64) },
		`"aGk="`:                       func(e *reply.Encoder) { e.Bytes([]byte("hi")) },
		`""`:                           func(e *reply.Encoder) { e.Bytes([]byte{}) },
		`"\ufffd<"`:                    func(e *reply.Encoder) { e.String("\xff<") },
		`{"a":1,"b":{},"c\"":[[],{}]}`: nested,
		`[{"x":" "},"<"]`: func(e *reply.Encoder) {
			e.Array()
			e.Next().Marshal(loose(` { "x" : " " } `))
			e.Next().String("<")
			e.EndArray()
		},
	} {
		e := reply.New()
		write(e)
		assert.Equal(t, hook.JSONResult(hook.JSON(want)), e.Result())
		assert.True(t, json.Valid([]byte(want)))
	}
	e := reply.New()
	e.Bytes(nil)
	assert.Equal(t, "null", e.Result().Text())
}

func nested(e *reply.Encoder) {
	e.Object()
	e.Name("a").Int(1)
	e.Name("b").Object()
	e.EndObject()
	e.Key(`c"`).Array()
	e.Next().Array()
	e.EndArray()
	e.Next().Object()
	e.EndObject()
	e.EndArray()
	e.EndObject()
}

// The first error is the one that is told, nobody is asked after it, and the next result does not have it.
func TestTheFirstErrorSticks(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, tt := range []struct {
		write func(*reply.Encoder)
		want  string
		asked int
	}{
		{func(e *reply.Encoder) { e.Float(math.NaN(), 64) }, "json: unsupported value: NaN", 0},
		{func(e *reply.Encoder) { e.Float(math.Inf(-1), 32); e.Marshal(failing{&asked}) }, "json: unsupported value: -Inf", 0},
		{func(e *reply.Encoder) {
			e.Marshal(failing{&asked})
			e.Float(math.NaN(), 64)
			e.Marshal(failing{&asked})
		}, "json: error calling MarshalJSON for type reply_test.failing: not today", 1},
		{func(e *reply.Encoder) { e.Marshal(loose("{")) }, "json: error calling MarshalJSON for type reply_test.loose: unexpected end of JSON input", 0},
	} {
		asked = 0
		e := reply.New()
		tt.write(e)
		got := e.Result()
		assert.Equal(t, hook.FailOperation, got.Failure)
		assert.Equal(t, "the result cannot be written as JSON: "+tt.want, got.Text())
		assert.Equal(t, tt.asked, asked)
		e = reply.New()
		e.Null()
		require.Equal(t, "null", e.Result().Text())
	}
}

// What one result has does not change when the next one is written.
func TestResultsShareNothing(t *testing.T) {
	t.Parallel()
	var all []hook.ToolResult
	for i := range 50 {
		e := reply.New()
		e.String(strings.Repeat(string(rune('a'+i%26)), 1<<(i%18)))
		all = append(all, e.Result())
	}
	for i, r := range all {
		require.Equal(t, `"`+strings.Repeat(string(rune('a'+i%26)), 1<<(i%18))+`"`, r.Text())
	}
}
