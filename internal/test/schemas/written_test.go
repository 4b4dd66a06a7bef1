package schemas_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
)

// written are the results of the tools of a Writer as composite.Reply writes them, which is encoding/json.
func written(w *schemas.Writer) map[string]message.ToolResult {
	return map[string]message.ToolResult{
		schemas.ToolWrittenPlain:     composite.Reply(w.Plain, w.Err),
		schemas.ToolWrittenOptions:   composite.Reply(&w.Options, w.Err),
		schemas.ToolWrittenParts:     composite.Reply(w.Parts, w.Err),
		schemas.ToolWrittenSelves:    composite.Reply(w.Selves, w.Err),
		schemas.ToolWrittenLeaves:    composite.Reply(w.Parts.Leaves, w.Err),
		schemas.ToolWrittenMap:       composite.Reply(w.Parts.Maps, w.Err),
		schemas.ToolWrittenPointer:   composite.Reply(w.Parts.Pointer, w.Err),
		schemas.ToolWrittenText:      composite.Reply(w.Plain.Named, w.Err),
		schemas.ToolWrittenFloat:     composite.Reply(w.Plain.F64, w.Err),
		schemas.ToolWrittenBytes:     composite.Reply(w.Plain.Bytes, w.Err),
		schemas.ToolWrittenTime:      composite.Reply(w.Selves.Until, w.Err),
		schemas.ToolWrittenElsewhere: composite.Reply(schemas.Elsewhere{}, w.Err),
	}
}

// compareWritten calls every tool of the writer.
func compareWritten(t require.TestingT, w *schemas.Writer) {
	want := written(w)
	tools := w.Schema()
	require.Len(t, tools, len(want))
	for _, tool := range tools {
		call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tool.Name}, Args: "{}"})
		inv, owned := w.Dispatch(context.Background(), call)
		require.True(t, owned)
		require.Nil(t, inv.Err())
		require.Equal(t, want[tool.Name], inv.Runner().Run(context.Background(), &hook.Env{Call: call}), tool.Name)
	}
}

// texts are strings of every kind that encoding/json treats in its own way.
var texts = []string{"", "plain", "<a href=\"x\">&\\/</a>", "\b\f\n\r\t\x00\x1f\x7f", "é\u2028\u2029😀\ufffd", "\xff\xed\xa0\x80\xe2\x80", "low"}

// arbitrary generates values of every type that the writer returns, with more of the odd ones than chance would give.
func arbitrary() *rapid.Generator[schemas.Writer] {
	text := rapid.OneOf(rapid.SampledFrom(texts), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	raw := rapid.SampledFrom([]string{"", "null", ` { "a" : [ 1 , "<\u003c>" ] } `, "\"\u2028\"", "1e5", `"\ud83d"`, "{", "x", "1 2"})
	float := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e21, 9.99e20, -1e-9, 1e100, math.MaxFloat64}))
	single := rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, 1e-6, 9.99e-7, 1e21, 9.99e20, -1e-9, 16777216, math.SmallestNonzeroFloat32}))
	at := rapid.SampledFrom([]time.Time{{}, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)})
	kinds := map[reflect.Kind]*rapid.Generator[any]{reflect.String: text.AsAny(), reflect.Float64: float.AsAny(), reflect.Float32: single.AsAny()}
	types := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time](): at.AsAny(),
		reflect.TypeFor[json.RawMessage](): rapid.Custom(func(t *rapid.T) json.RawMessage {
			if s := raw.Draw(t, "raw"); s != "" {
				return json.RawMessage(s)
			}
			return nil
		}).AsAny(),
		reflect.TypeFor[message.JSON]():         rapid.Map(raw, func(s string) message.JSON { return message.JSON(s) }).AsAny(),
		reflect.TypeFor[message.List[string]](): rapid.Map(rapid.SliceOf(text), func(s []string) message.List[string] { return message.ListOf(s...) }).AsAny(),
		reflect.TypeFor[error]():                rapid.Just[error](nil).AsAny(),
		reflect.TypeFor[hook.Nop]():             rapid.Just(hook.Nop{}).AsAny(),
	}
	filled := rapid.MakeCustom[schemas.Writer](rapid.MakeConfig{Types: types, Kinds: kinds, Fields: map[reflect.Type]map[string]*rapid.Generator[any]{
		reflect.TypeFor[schemas.Writer](): {"Err": rapid.Just(any(nil))},
	}})
	return rapid.Custom(func(t *rapid.T) schemas.Writer {
		w := filled.Draw(t, "filled")
		if rapid.Bool().Draw(t, "nil") {
			empty(reflect.ValueOf(&w).Elem())
		}
		return w
	})
}

// empty makes all lists and maps nil that have nothing in them, which rapid never makes.
func empty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			empty(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				empty(v.Field(i))
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			empty(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if kind := v.Type().Elem().Kind(); (kind == reflect.Slice || kind == reflect.Map) && v.MapIndex(key).Len() == 0 {
				v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
			}
		}
	}
	if k := v.Kind(); (k == reflect.Slice || k == reflect.Map) && v.Len() == 0 {
		v.SetZero()
	}
}

// What generated code writes is what encoding/json writes, byte for byte, and fails where it fails, in the same words.
func TestWrittenIsWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		w := arbitrary().Draw(t, "writer")
		compareWritten(t, &w)
	})
}

func TestWrittenBorders(t *testing.T) {
	t.Parallel()
	compareWritten(t, &schemas.Writer{})
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		single := float32(f)
		for _, w := range []*schemas.Writer{
			{Plain: schemas.Plain{F64: f}},
			{Plain: schemas.Plain{F32: single}},
			{Options: schemas.Options{Float: f, QFloat: f}},
			{Options: schemas.Options{QSingle: &single}},
			{Plain: schemas.Plain{F32: single, F64: -f}, Selves: schemas.Selves{Raw: json.RawMessage("{")}},
		} {
			compareWritten(t, w)
		}
	}
	for _, at := range []time.Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 24*3600))} {
		compareWritten(t, &schemas.Writer{Selves: schemas.Selves{At: at, Raw: json.RawMessage("{")}, Options: schemas.Options{Until: &at}})
		compareWritten(t, &schemas.Writer{Selves: schemas.Selves{Until: &at}})
	}
	for _, err := range []error{errors.New("no"), &hook.ToolError{Kind: message.FailNotFound, Text: "there is none"}} {
		compareWritten(t, &schemas.Writer{Err: err})
	}
}

// Text that is longer than what an encoder keeps is written too, and the next result does not begin with it.
func TestWrittenIsNotMixed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{100, 1 << 20, 0} {
		compareWritten(t, &schemas.Writer{Plain: schemas.Plain{Text: strings.Repeat("a\n", n)}})
	}
	compareWritten(t, &schemas.Writer{Plain: schemas.Plain{F64: math.NaN(), Text: "x"}})
	compareWritten(t, &schemas.Writer{})
}

// An answer costs its text, its block and what encodes it.
func TestWrittenAllocations(t *testing.T) {
	w := &schemas.Writer{Parts: schemas.Parts{Leaves: []schemas.Leaf{{N: 1, Unit: "a"}, {N: 2}}}}
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: schemas.ToolWrittenLeaves}, Args: "{}"})
	inv, _ := w.Dispatch(t.Context(), call)
	env := &hook.Env{Call: call}
	assert.LessOrEqual(t, allocs.PerRun(1000, func() { inv.Runner().Run(t.Context(), env) }), 6.0)
}
