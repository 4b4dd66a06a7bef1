package message_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

func drawJSON(t *rapid.T) message.JSON {
	return rapid.SampledFrom([]message.JSON{"", `{}`, `{"a":"<b>"}`, `[1,"\\u003c"]`, `null`}).Draw(t, "json")
}

func drawBlock(t *rapid.T) message.Block {
	text := rapid.String()
	return message.Block{
		Kind: rapid.SampledFrom([]message.BlockKind{message.BlockText, message.BlockReasoning, message.BlockToolCall, message.BlockJSON, message.BlockImage}).Draw(t, "kind"),
		Text: text.Draw(t, "text"), MIME: text.Draw(t, "mime"), URI: text.Draw(t, "uri"), Data: text.Draw(t, "data"),
		JSON: drawJSON(t), CallID: text.Draw(t, "call"), Tool: text.Draw(t, "tool"), Meta: drawJSON(t),
	}
}

func TestMessageRoundTrip(t *testing.T) {
	blocks := rapid.SliceOfN(rapid.Custom(drawBlock), 1, 3)
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		m := message.Message{
			Role:    rapid.SampledFrom([]message.Role{message.RoleUser, message.RoleAssistant, message.RoleTool}).Draw(t, "role"),
			Content: message.ListOf(blocks.Draw(t, "content")...),
			CallID:  rapid.String().Draw(t, "call"), Tool: rapid.String().Draw(t, "tool"), Label: rapid.String().Draw(t, "label"),
		}
		if rapid.Bool().Draw(t, "answers") {
			m.Result = message.ToolResult{
				Content: message.ListOf(blocks.Draw(t, "result")...), Failure: message.FailTimeout,
				Trust: message.TrustExternal, Meta: drawJSON(t),
			}
		}
		require.Equal(t, m, recoded(t, m))
	})
}

func TestMessageShape(t *testing.T) {
	ms := []message.Message{
		message.UserText("hi"),
		{Role: message.RoleAssistant, Content: message.ListOf(
			message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: `{"signature":"s"}`},
			message.Block{Kind: message.BlockToolCall, CallID: "k1", Tool: "bash", JSON: `{"command":"ls"}`})},
		{Role: message.RoleTool, CallID: "k1", Tool: "bash", Result: message.FailedResult(message.FailDenied, "no"), Ephemeral: true, Label: "feedback"},
	}
	data, err := json.MarshalIndent(ms, "", "  ")
	require.NoError(t, err)
	golden(t, "messages.golden", string(data)+"\n")
}

func TestTexts(t *testing.T) {
	m := message.Message{Content: message.ListOf(message.TextBlock("a"), message.Block{Kind: message.BlockReasoning, Text: "hm"}, message.TextBlock("b"))}
	assert.Equal(t, "ab", m.Text())
	assert.Equal(t, "ab\n\nc", message.Input{Messages: message.ListOf(m, message.UserText("c"))}.Text())
	assert.Equal(t, "c", message.TextInput("c").Text())
	assert.Empty(t, message.Input{}.Text())

	reply := message.ModelReply{Content: m.Content}
	assert.Equal(t, "ab", reply.Text())
	assert.Equal(t, "hm", reply.Reasoning())
	one := message.UserText("only")
	noAllocs(t, "the text of one block", func() { _ = one.Text() })
}

func TestToolResult(t *testing.T) {
	cases := []struct {
		name    string
		result  message.ToolResult
		text    string
		isError bool
	}{
		{"zero", message.ToolResult{}, "", false},
		{"text", message.TextResult("a"), "a", false},
		{"json", message.JSONResult(`{"a":1}`), `{"a":1}`, false},
		{"failed", message.FailedResult(message.FailOperation, "no"), "no", true},
		{"mixed", message.ToolResult{Content: message.ListOf(
			message.TextBlock("a"), message.TextBlock(""), message.Block{Kind: message.BlockJSON, JSON: `[1]`},
			message.Block{Kind: message.BlockImage, Data: "xx", MIME: "image/png"},
			message.Block{Kind: message.BlockResource, URI: "file:///x"})}, "a\n[1]\nfile:///x", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.text, c.result.Text())
			assert.Equal(t, c.isError, c.result.IsError())
			assert.Equal(t, c.name == "zero", c.result.IsZero())
			assert.Equal(t, c.result, recoded(t, c.result))
		})
	}
	for _, r := range []message.ToolResult{{Failure: message.FailPanic}, {Trust: message.TrustExternal}, {Meta: `{}`}} {
		assert.False(t, r.IsZero(), "%+v", r)
	}
}

func TestCalls(t *testing.T) {
	call := func(id string) message.Block { return message.Block{Kind: message.BlockToolCall, CallID: id} }
	reply := message.ModelReply{Content: message.ListOf(message.TextBlock("x"), call("a"), message.TextBlock("y"), call("b"))}
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
	assert.Equal(t, message.FailArguments, r.Failure)
	assert.Equal(t, err.Error()+"\nThe arguments must fit this schema: {\"type\":\"object\"}", r.Text())
	whole := &hook.ArgError{Tool: "bash", Reason: "must be an object"}
	assert.Equal(t, "bash: invalid arguments: must be an object", whole.Result().Text())

	var tool *hook.ToolError
	assert.True(t, errors.As(error(&hook.ToolError{Kind: message.FailNotFound, Text: "gone"}), &tool))
	assert.Equal(t, "gone", tool.Error())
}

// answers is a runner that can be told from others.
type answers struct{ text string }

func (a answers) Run(context.Context, *hook.Env) message.ToolResult {
	return message.TextResult(a.text)
}

func TestInvocation(t *testing.T) {
	wrong, r := &hook.ArgError{Tool: "bash", Reason: "must be an object"}, answers{"done"}
	for name, tt := range map[string]struct {
		inv    hook.Invocation
		args   message.JSON
		runner hook.Runner
		err    *hook.ArgError
	}{
		"zero":          {},
		"bound":         {inv: hook.Bound("{}", r), args: "{}", runner: r},
		"bound by none": {inv: hook.Bound("{}", nil), args: "{}"},
		"bad":           {inv: hook.BadArgs("{", wrong), args: "{", err: wrong},
		"bad, unsaid":   {inv: hook.BadArgs("{", nil), args: "{"},
	} {
		assert.Equal(t, tt.args, tt.inv.Args(), name)
		assert.Equal(t, tt.runner, tt.inv.Runner(), name)
		assert.Same(t, tt.err, tt.inv.Err(), name)
	}
}

func TestUsage(t *testing.T) {
	drawUsage := func(t *rapid.T) message.Usage {
		n := rapid.Int64Range(0, 1<<40)
		return message.Usage{Input: n.Draw(t, "in"), Output: n.Draw(t, "out"), CacheRead: n.Draw(t, "read"), CacheWrite: n.Draw(t, "write"), Reasoning: n.Draw(t, "think")}
	}
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		a, b := drawUsage(t), drawUsage(t)
		require.Equal(t, a.Add(b), b.Add(a))
		require.Equal(t, a, a.Add(message.Usage{}))
		require.Equal(t, a.Total()+b.Total(), a.Add(b).Total())
		require.Equal(t, a.Input+a.Output, a.Total(), "what came from a cache is in the input already")
		require.Equal(t, a, recoded(t, a))
	})
	data, err := json.Marshal(message.Usage{})
	require.NoError(t, err)
	assert.Equal(t, "{}", string(data))
}

func TestToolSetEncodesOnce(t *testing.T) {
	set := message.NewToolSet([]message.Tool{{Name: "a"}})
	n := 0
	encode := func(l message.List[message.Tool]) string { n++; return l.At(0).Name }
	for range 3 {
		assert.Equal(t, "a", set.Encoded("x", encode))
	}
	assert.Equal(t, 1, n)
	set.Encoded("y", encode)
	assert.Equal(t, 2, n, "once per form")
	noAllocs(t, "an encoded set", func() { set.Encoded("x", encode) })

	var none *message.ToolSet
	assert.Zero(t, none.Tools().Len())
	assert.Equal(t, "0", none.Encoded("x", func(l message.List[message.Tool]) string { return string(rune('0' + l.Len())) }))
}
