package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
)

func drawJSON(t *rapid.T) hook.JSON {
	return rapid.SampledFrom([]hook.JSON{"", `{}`, `{"a":"<b>"}`, `[1,"\\u003c"]`, `null`}).Draw(t, "json")
}

func drawBlock(t *rapid.T) hook.Block {
	text := rapid.String()
	return hook.Block{
		Kind: rapid.SampledFrom([]hook.BlockKind{hook.BlockText, hook.BlockReasoning, hook.BlockToolCall, hook.BlockJSON, hook.BlockImage}).Draw(t, "kind"),
		Text: text.Draw(t, "text"), MIME: text.Draw(t, "mime"), URI: text.Draw(t, "uri"), Data: text.Draw(t, "data"),
		JSON: drawJSON(t), CallID: text.Draw(t, "call"), Tool: text.Draw(t, "tool"), Meta: drawJSON(t),
	}
}

func TestMessageRoundTrip(t *testing.T) {
	blocks := rapid.SliceOfN(rapid.Custom(drawBlock), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		m := hook.Message{
			Role:    rapid.SampledFrom([]hook.Role{hook.RoleUser, hook.RoleAssistant, hook.RoleTool}).Draw(t, "role"),
			Content: hook.ListOf(blocks.Draw(t, "content")...),
			CallID:  rapid.String().Draw(t, "call"), Tool: rapid.String().Draw(t, "tool"), Label: rapid.String().Draw(t, "label"),
		}
		if rapid.Bool().Draw(t, "answers") {
			m.Result = hook.ToolResult{
				Content: hook.ListOf(blocks.Draw(t, "result")...), Failure: hook.FailTimeout,
				Trust: hook.TrustExternal, Meta: drawJSON(t),
			}
		}
		require.Equal(t, m, recoded(t, m))
	})
}

func TestMessageShape(t *testing.T) {
	ms := []hook.Message{
		hook.UserText("hi"),
		{Role: hook.RoleAssistant, Content: hook.ListOf(
			hook.Block{Kind: hook.BlockReasoning, Text: "hm", Meta: `{"signature":"s"}`},
			hook.Block{Kind: hook.BlockToolCall, CallID: "k1", Tool: "bash", JSON: `{"command":"ls"}`})},
		{Role: hook.RoleTool, CallID: "k1", Tool: "bash", Result: hook.FailedResult(hook.FailDenied, "no"), Ephemeral: true, Label: "feedback"},
	}
	data, err := json.MarshalIndent(ms, "", "  ")
	require.NoError(t, err)
	golden(t, "messages.golden", string(data)+"\n")
}

func TestTexts(t *testing.T) {
	m := hook.Message{Content: hook.ListOf(hook.TextBlock("a"), hook.Block{Kind: hook.BlockReasoning, Text: "hm"}, hook.TextBlock("b"))}
	assert.Equal(t, "ab", m.Text())
	assert.Equal(t, "ab\n\nc", hook.Input{Messages: hook.ListOf(m, hook.UserText("c"))}.Text())
	assert.Equal(t, "c", hook.TextInput("c").Text())
	assert.Empty(t, hook.Input{}.Text())

	reply := hook.ModelReply{Content: m.Content}
	assert.Equal(t, "ab", reply.Text())
	assert.Equal(t, "hm", reply.Reasoning())
	one := hook.UserText("only")
	noAllocs(t, "the text of one block", func() { _ = one.Text() })
}

func TestToolResult(t *testing.T) {
	cases := []struct {
		name    string
		result  hook.ToolResult
		text    string
		isError bool
	}{
		{"zero", hook.ToolResult{}, "", false},
		{"text", hook.TextResult("a"), "a", false},
		{"json", hook.JSONResult(`{"a":1}`), `{"a":1}`, false},
		{"failed", hook.FailedResult(hook.FailOperation, "no"), "no", true},
		{"mixed", hook.ToolResult{Content: hook.ListOf(
			hook.TextBlock("a"), hook.TextBlock(""), hook.Block{Kind: hook.BlockJSON, JSON: `[1]`},
			hook.Block{Kind: hook.BlockImage, Data: "xx", MIME: "image/png"},
			hook.Block{Kind: hook.BlockResource, URI: "file:///x"})}, "a\n[1]\nfile:///x", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.text, c.result.Text())
			assert.Equal(t, c.isError, c.result.IsError())
			assert.Equal(t, c.name == "zero", c.result.IsZero())
			assert.Equal(t, c.result, recoded(t, c.result))
		})
	}
	for _, r := range []hook.ToolResult{{Failure: hook.FailPanic}, {Trust: hook.TrustExternal}, {Meta: `{}`}} {
		assert.False(t, r.IsZero(), "%+v", r)
	}
}

func TestCalls(t *testing.T) {
	call := func(id string) hook.Block { return hook.Block{Kind: hook.BlockToolCall, CallID: id} }
	reply := hook.ModelReply{Content: hook.ListOf(hook.TextBlock("x"), call("a"), hook.TextBlock("y"), call("b"))}
	var ids []string
	for i, b := range reply.Calls() {
		assert.Equal(t, len(ids), i)
		ids = append(ids, b.CallID)
	}
	assert.Equal(t, []string{"a", "b"}, ids)
	for range reply.Calls() {
		break // stopping early must not panic
	}
}

func TestArgError(t *testing.T) {
	err := &hook.ArgError{Tool: "bash", Path: "command", Reason: "is required", Schema: `{"type":"object"}`}
	assert.Equal(t, "bash: invalid argument command: is required", err.Error())
	r := err.Result()
	assert.Equal(t, hook.FailArguments, r.Failure)
	assert.Equal(t, err.Error()+"\nThe arguments must fit this schema: {\"type\":\"object\"}", r.Text())
	whole := &hook.ArgError{Tool: "bash", Reason: "must be an object"}
	assert.Equal(t, "bash: invalid arguments: must be an object", whole.Result().Text())

	var tool *hook.ToolError
	assert.True(t, errors.As(error(&hook.ToolError{Kind: hook.FailNotFound, Text: "gone"}), &tool))
	assert.Equal(t, "gone", tool.Error())
}

// answers is a runner that can be told from others.
type answers struct{ text string }

func (a answers) Run(context.Context, *hook.Env) hook.ToolResult { return hook.TextResult(a.text) }

func TestInvocation(t *testing.T) {
	wrong, r := &hook.ArgError{Tool: "bash", Reason: "must be an object"}, answers{"done"}
	for name, tt := range map[string]struct {
		inv    hook.Invocation
		args   hook.JSON
		runner hook.Runner
		parsed bool
		err    *hook.ArgError
	}{
		"zero":           {},
		"bound":          {inv: hook.Bound("{}", r), args: "{}", runner: r},
		"bound by none":  {inv: hook.Bound("{}", nil), args: "{}"},
		"bound again":    {inv: hook.Bound("{}", hook.Bound("[]", r).Runner()), args: "{}", runner: r},
		"parsed":         {inv: hook.Parsed("{}", r), args: "{}", runner: r, parsed: true},
		"parsed by none": {inv: hook.Parsed("{}", nil), args: "{}"},
		"bad":            {inv: hook.BadArgs("{", wrong), args: "{", err: wrong},
		"bad, unsaid":    {inv: hook.BadArgs("{", nil), args: "{"},
	} {
		assert.Equal(t, tt.args, tt.inv.Args(), name)
		assert.Equal(t, tt.runner, tt.inv.Runner(), name)
		assert.Equal(t, tt.parsed, tt.inv.Parsed(), name)
		assert.Same(t, tt.err, tt.inv.Err(), name)
	}
	assert.NotEqual(t, hook.Bound("{}", r), hook.Parsed("{}", r))
}

// The compiler keeps values of up to four words in registers.
func TestAnInvocationStaysInRegisters(t *testing.T) {
	assert.LessOrEqual(t, reflect.TypeFor[hook.Invocation]().Size(), 4*reflect.TypeFor[uintptr]().Size())
}

func TestUsage(t *testing.T) {
	drawUsage := func(t *rapid.T) hook.Usage {
		n := rapid.Int64Range(0, 1<<40)
		return hook.Usage{Input: n.Draw(t, "in"), Output: n.Draw(t, "out"), CacheRead: n.Draw(t, "read"), CacheWrite: n.Draw(t, "write"), Reasoning: n.Draw(t, "think")}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawUsage(t), drawUsage(t)
		require.Equal(t, a.Add(b), b.Add(a))
		require.Equal(t, a, a.Add(hook.Usage{}))
		require.Equal(t, a.Total()+b.Total(), a.Add(b).Total())
		require.Equal(t, a.Input+a.Output, a.Total(), "what came from a cache is in the input already")
		require.Equal(t, a, recoded(t, a))
	})
	data, err := json.Marshal(hook.Usage{})
	require.NoError(t, err)
	assert.Equal(t, "{}", string(data))
}

func TestToolSetEncodesOnce(t *testing.T) {
	set := hook.NewToolSet([]hook.Tool{{Name: "a"}})
	n := 0
	encode := func(l hook.List[hook.Tool]) string { n++; return l.At(0).Name }
	for range 3 {
		assert.Equal(t, "a", set.Encoded("x", encode))
	}
	assert.Equal(t, 1, n)
	set.Encoded("y", encode)
	assert.Equal(t, 2, n, "once per form")
	noAllocs(t, "an encoded set", func() { set.Encoded("x", encode) })

	var none *hook.ToolSet
	assert.Zero(t, none.Tools().Len())
	assert.Equal(t, "0", none.Encoded("x", func(l hook.List[hook.Tool]) string { return string(rune('0' + l.Len())) }))
}
