package schemas_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
)

// reports are results from empty to full.
func reports() map[string]schemas.Report {
	quoted, yes, at, behind := int64(-5), true, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), []int(nil)
	return map[string]schemas.Report{
		"zero": {},
		"full": {
			Head: schemas.Head{ID: "i", Name: "hidden", Both: 1}, Tail: &schemas.Tail{Last: "l", Both: "b"}, Name: "n", Count: -1, Small: 255, Ratio: 1e-9,
			Quoted: &quoted, Done: true, Priority: "none of the constants", List: []string{}, Some: []*schemas.Leaf{nil, {N: 1}},
			Zero: []schemas.Leaf{{}}, Map: map[string]int{"": 1}, ByNumber: map[int8][]int{-1: nil, 2: {3}}, Array: [2]*bool{&yes, nil},
			Bytes: []byte("hi"), Digest: [2]byte{1, 255}, At: at, Until: &at, Behind: &behind, Wait: time.Minute, Raw: json.RawMessage(`[1]`),
			JSON: `{"a":null}`, Any: map[string]any{"x": 1}, Number: "1.5", Address: netip.MustParseAddr("::1"), Texts: message.ListOf("a"), Grade: 1,
			Leaf: &schemas.Leaf{N: 1, Unit: schemas.Low},
		},
		"empty and not nil": {
			Some: []*schemas.Leaf{}, Zero: []schemas.Leaf{}, Map: map[string]int{}, Bytes: []byte{}, Texts: message.ListOf[string](), Tail: &schemas.Tail{},
		},
	}
}

// What a tool returns is what its output schema says, whatever is nil or empty in it.
func TestResultsFitTheirSchema(t *testing.T) {
	t.Parallel()
	outputs := map[string]*jsonschema.Schema{}
	for _, tool := range new(schemas.Rich).Schema() {
		if tool.Output != "" {
			outputs[tool.Name] = compile(t, tool.Output)
		}
	}
	require.Len(t, outputs, 3, "a result that refers to itself has no schema, an error alone is no result")
	for name, report := range reports() {
		for tool, schema := range outputs {
			text := run(t, &schemas.Rich{Reply: report}, tool)
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			require.NoError(t, err)
			assert.NoError(t, schema.Validate(v), "%s %s: %s", name, tool, text)
		}
	}
}

// The schema of a result is no empty promise: a member too much, one too few and one of another type do not fit.
func TestOutputSchemaRefuses(t *testing.T) {
	t.Parallel()
	text := run(t, &schemas.Rich{Reply: reports()["full"]}, schemas.ToolReport)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &members))
	schema := compile(t, output(t, schemas.ToolReport))
	optional := []string{"small", "some", "zero", "until", "behind", "last"}
	free := []string{"Raw", "JSON", "Any", "Sealed"}
	for name := range members {
		less, other := clone(members), clone(members)
		delete(less, name)
		other[name] = json.RawMessage(`{"nothing":"like it"}`)
		assert.Equal(t, !contains(optional, name), !fits(t, schema, less), "without %s", name)
		assert.Equal(t, contains(free, name), fits(t, schema, other), "with another %s", name)
	}
	members["Both"] = json.RawMessage(`1`)
	assert.False(t, fits(t, schema, members), "encoding/json writes neither of two fields of one name and depth")
}

func clone(m map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func contains(list []string, name string) bool {
	return strings.Contains(","+strings.Join(list, ",")+",", ","+name+",")
}

func fits(t *testing.T, schema *jsonschema.Schema, members map[string]json.RawMessage) bool {
	t.Helper()
	text, err := json.Marshal(members)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	return schema.Validate(v) == nil
}

func output(t *testing.T, name string) message.JSON {
	t.Helper()
	for _, tool := range new(schemas.Rich).Schema() {
		if tool.Name == name {
			return tool.Output
		}
	}
	t.Fatalf("no tool %s", name)
	return ""
}

func run(t *testing.T, r *schemas.Rich, tool string) string {
	t.Helper()
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tool}, Args: "{}"})
	inv, owned := r.Dispatch(t.Context(), call)
	require.True(t, owned)
	require.Nil(t, inv.Err())
	res := inv.Runner().Run(t.Context(), &hook.Env{Call: call})
	require.False(t, res.IsError(), res.Text())
	return res.Text()
}
