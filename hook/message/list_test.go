package message_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

func TestListCannotBeChangedByHolders(t *testing.T) {
	source := []string{"a", "b", "c"}
	l := message.ListOf(source...)
	source[0] = "changed"
	assert.Equal(t, []string{"a", "b", "c"}, l.Slice(), "ListOf copies")

	l.Slice()[0] = "changed"
	assert.Equal(t, "a", l.At(0), "Slice copies")

	for _, v := range l.All() {
		v += "changed"
		_ = v
	}
	assert.Equal(t, []string{"a", "b", "c"}, l.Slice(), "All yields copies")

	one, other := l.Append("d"), l.Append("e")
	assert.Equal(t, []string{"a", "b", "c", "d"}, one.Slice())
	assert.Equal(t, []string{"a", "b", "c", "e"}, other.Slice(), "two appends do not share what they added")
	assert.Equal(t, 3, l.Len(), "Append leaves the list")

	tail, again := l.From(1), l.From(3)
	assert.Equal(t, []string{"b", "c"}, tail.Slice())
	assert.Zero(t, again.Len())
	_ = tail.Append("x")
	_ = again.Append("y")
	assert.Equal(t, []string{"a", "b", "c"}, l.Slice())
}

func TestListDecodingLeavesCopies(t *testing.T) {
	l := message.ListOf("a", "b")
	held := l
	require.NoError(t, json.Unmarshal([]byte(`["x","y"]`), &l))
	assert.Equal(t, []string{"x", "y"}, l.Slice())
	assert.Equal(t, []string{"a", "b"}, held.Slice())

	require.Error(t, json.Unmarshal([]byte(`["z",1]`), &l))
	assert.Equal(t, []string{"x", "y"}, l.Slice(), "a failed decode leaves the list")
}

func TestFreeze(t *testing.T) {
	s := make([]string, 2, 8)
	s[0], s[1] = "a", "b"
	l := message.Freeze(s)
	_ = append(s, "later")
	longer := l.Append("c")
	assert.Equal(t, []string{"a", "b"}, l.Slice())
	assert.Equal(t, []string{"a", "b", "c"}, longer.Slice())
	assert.Equal(t, "later", s[:3][2], "the owner may append beyond the list, and the list's Append does not write there")
	noAllocs(t, "Freeze", func() { l = message.Freeze(s) })
	noAllocs(t, "From", func() { l = l.From(0) })
}

func TestListEdges(t *testing.T) {
	var zero message.List[int]
	assert.Zero(t, zero.Len())
	assert.True(t, zero.IsZero())
	assert.Empty(t, zero.Slice())
	assert.Panics(t, func() { zero.At(0) })
	data, err := json.Marshal(zero)
	require.NoError(t, err)
	assert.Equal(t, "[]", string(data))
	stopped := 0
	for range message.ListOf(1, 2, 3).All() {
		stopped++
		break
	}
	assert.Equal(t, 1, stopped)
}

func TestListIsASlice(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		model := rapid.SliceOf(rapid.Int()).Draw(t, "model")
		more := rapid.SliceOf(rapid.Int()).Draw(t, "more")
		l := message.ListOf(model...).Append(more...)
		want := append(append([]int{}, model...), more...)
		require.Equal(t, want, append([]int{}, l.Slice()...))
		require.Equal(t, l.Len(), len(want))
		from := rapid.IntRange(0, len(want)).Draw(t, "from")
		require.Equal(t, want[from:], append([]int{}, l.From(from).Slice()...))
		require.Equal(t, want, append([]int{}, recoded(t, l).Slice()...))
	})
}

func TestJSONRoundTrip(t *testing.T) {
	for _, text := range []message.JSON{
		`{}`, `null`, `"x"`, `{"b":1,"a":2}`, `{"c":"a < b && c > d"}`, "{\"c\":\"\u2028\u2029\"}", `{"c":"\\u003c \\\\u003e \n \u0001"}`,
		`1e400`, `12345678901234567890`,
	} {
		assert.Equal(t, text, recoded(t, text))
		whole := recoded(t, message.JSONResult(text))
		assert.Equal(t, text, whole.Content.At(0).JSON)
	}
	data, err := json.Marshal(message.JSON(""))
	require.NoError(t, err)
	assert.Equal(t, "null", string(data), "the empty JSON")
}

func TestJSONThatIsNoneCanBeWritten(t *testing.T) {
	call := message.Block{Kind: message.BlockToolCall, CallID: "c1", Tool: "bash", JSON: `{"command":"rm`}
	data, err := json.Marshal(message.Message{Role: message.RoleAssistant, Content: message.ListOf(call)})
	require.NoError(t, err, "a message with arguments that could not be bound")
	assert.JSONEq(t, `{"role":"assistant","content":[{"kind":"tool_call","json":"{\"command\":\"rm","call_id":"c1","tool":"bash"}]}`, string(data))
}

func FuzzJSONRoundTrip(f *testing.F) {
	for _, s := range []string{`{"a":"<\u003c\\u003c"}`, `[1,2]`, `"\`, `{"a":"\ud83d\ude00"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		data, err := json.Marshal(message.JSON(s))
		require.NoError(t, err)
		require.True(t, json.Valid(data))
		var back message.JSON
		require.NoError(t, json.Unmarshal(data, &back))
		again := recoded(t, back)
		require.Equal(t, back, again, "a second round changes nothing")
		if json.Valid([]byte(s)) {
			var want, got any
			require.NoError(t, json.Unmarshal([]byte(s), &want))
			require.NoError(t, json.Unmarshal([]byte(back), &got))
			require.Equal(t, want, got, "the value is the same")
		}
	})
}
