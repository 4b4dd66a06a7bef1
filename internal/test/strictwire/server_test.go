package strictwire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// says is a model that says one thing.
func says(text string) provider.Provider {
	return provider.Func(func(context.Context, message.ModelRequest) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			_ = yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil) && yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
		}
	})
}

func servers(inner provider.Provider) map[string]*strictwire.Server {
	return map[string]*strictwire.Server{"openai": strictwire.OpenAI(inner), "anthropic": strictwire.Anthropic(inner)}
}

func request(messages ...message.Message) message.ModelRequest {
	return message.ModelRequest{Model: message.Model{Name: "m"}, System: "be brief", Messages: message.MessagesOf(messages...), Tools: tools()}
}

func tools() *message.ToolSet {
	return message.NewToolSet([]message.Tool{
		{Name: "read", Description: "reads a file", Input: `{"type":"object","properties":{"path":{"type":"string"}}}`},
		{Name: "grep", Input: `{"type":"object","properties":{}}`},
	})
}

func assistant(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(blocks...)}
}

func call(id, tool, args string) message.Block {
	return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: tool, JSON: message.JSON(args)}
}

func result(id, tool, text string) message.Message {
	return message.Message{Role: message.RoleTool, CallID: id, Tool: tool, Result: message.TextResult(text)}
}

func TestAGoodRequestIsAnsweredByTheModelBehind(t *testing.T) {
	t.Parallel()
	for name, s := range servers(says("hello")) {
		var got []message.Chunk
		for chunk, err := range s.Stream(t.Context(), request(message.UserText("hi"))) {
			require.NoError(t, err, name)
			got = append(got, chunk)
		}
		assert.Equal(t, []message.Chunk{{Kind: message.ChunkText, Text: "hello"}, {Kind: message.ChunkFinish, Finish: message.FinishStop}}, got)
		for range s.Stream(t.Context(), request(message.UserText("hi"))) {
			break // whoever listens may leave
		}
		assert.Equal(t, 2, s.Requests())
		assert.Empty(t, s.Rejections())
	}
}

func TestTheErrorsOfTheModelBehindComeThrough(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	inner := provider.Func(func(context.Context, message.ModelRequest) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, broken) }
	})
	for name, s := range servers(inner) {
		_, err := provider.Collect(s.Stream(t.Context(), request(message.UserText("hi"))))
		assert.Equal(t, broken, err, name)
	}
}

func TestABadRequestIsRefusedInTheVendorsWords(t *testing.T) {
	t.Parallel()
	asked := 0
	inner := provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		asked++
		return says("x").Stream(ctx, req)
	})
	bad := request(message.UserText("hi"), assistant(call("1", "read", "{}")))

	s := strictwire.OpenAI(inner)
	_, err := provider.Collect(s.Stream(t.Context(), bad))
	var of *provider.ServerError
	require.ErrorAs(t, err, &of)
	assert.Equal(t, "openai: 400 Bad Request: invalid_request_error: An assistant message with 'tool_calls' must be followed by tool messages "+
		"responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: 1", err.Error())
	require.Len(t, s.Rejections(), 1)
	assert.Equal(t, "result-missing", s.Rejections()[0].Rule)
	assert.Contains(t, s.Rejections()[0].Request, `"tool_calls":[{"id":"1"`)
	assert.Contains(t, s.Rejections()[0].Body, `{"error":{"code":null`)

	s = strictwire.Anthropic(inner)
	_, err = provider.Collect(s.Stream(t.Context(), bad))
	var an *strictwire.Error
	require.ErrorAs(t, err, &an)
	assert.Equal(t, "anthropic: 400 Bad Request: invalid_request_error: messages.1: `tool_use` ids were found without `tool_result` blocks "+
		"immediately after: 1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", err.Error())
	assert.Equal(t, "result-missing", s.Rejections()[0].Rule)
	assert.Equal(t, 1, s.Requests())
	assert.Zero(t, asked, "the model behind was asked")
}

func TestManyRejectionsAreCountedAndFewAreKeptWhole(t *testing.T) {
	t.Parallel()
	s := strictwire.Anthropic(says("x"))
	for range 30 {
		_, err := provider.Collect(s.Stream(t.Context(), request(assistant(message.TextBlock("x")))))
		require.Error(t, err)
	}
	got := s.Rejections()
	require.Len(t, got, 30)
	assert.NotEmpty(t, got[19].Request)
	assert.Empty(t, got[20].Request)
	assert.Equal(t, "first", got[29].Rule)
}

func TestACancelledRequestIsNotMade(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, s := range servers(says("x")) {
		_, err := provider.Collect(s.Stream(ctx, request(message.UserText("hi"))))
		require.ErrorIs(t, err, context.Canceled, name)
		assert.Empty(t, s.Rejections())
	}
}

func TestManyAtOnceInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
			return func(yield func(message.Chunk, error) bool) {
				time.Sleep(time.Hour)
				says("x").Stream(ctx, req)(yield)
			}
		})
		began := time.Now()
		all := servers(slow)
		var wg sync.WaitGroup
		for i := range 40 {
			for _, s := range all {
				wg.Go(func() {
					req := request(message.UserText("hi"))
					if i%4 == 0 {
						req = request(message.UserText("hi"), result("1", "read", "x"))
					}
					_, err := provider.Collect(s.Stream(t.Context(), req))
					assert.Equal(t, i%4 == 0, err != nil)
				})
			}
		}
		wg.Wait()
		assert.Equal(t, time.Hour, time.Since(began), "nothing but the model takes time")
		for _, s := range all {
			assert.Equal(t, 40, s.Requests())
			assert.Len(t, s.Rejections(), 10)
		}
	})
}

func TestTheRequestToAnthropic(t *testing.T) {
	t.Parallel()
	signed := message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: `{"anthropic":{"signature":"s"}}`}
	image := message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "aGk="}
	note := message.UserText("be quick")
	note.Label, note.Ephemeral = "context", true
	req := request(
		message.UserText("hi \"you\" é"), message.UserText(" "),
		assistant(message.Block{Kind: message.BlockReasoning, Text: "unsigned"}), // says nothing
		assistant(signed, call("1", "read", `{"path":"a"}`), message.TextBlock("I look"), call("2", "read", `{}`)),
		result("1", "read", "x"),
		message.Message{Role: message.RoleTool, CallID: "2", Tool: "read", Result: message.ToolResult{Failure: message.FailTimeout, Content: message.ListOf(image)}},
		note,
		assistant(call("3", "grep", `{}`), call("4", "grep", `{}`)),
		message.Message{Role: message.RoleTool, CallID: "3", Tool: "grep"},
		message.Message{Role: message.RoleTool, CallID: "4", Tool: "grep", Result: message.ToolResult{Failure: message.FailTimeout}},
		assistant(message.TextBlock("and so \n")),
	)
	req.Model.Choice, req.Model.MaxTokens = message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "grep"}, 99
	body := strictwire.RenderAnthropic(req)
	assert.Nil(t, strictwire.CheckAnthropic(body))
	assert.Equal(t, `{"model":"m","max_tokens":99,"stream":true,"system":"be brief",`+
		`"tools":[{"name":"read","description":"reads a file","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},`+
		`{"name":"grep","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"tool","name":"grep"},"messages":[`+
		`{"role":"user","content":[{"type":"text","text":"hi \"you\" é"}]},`+
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I look"},`+
		`{"type":"tool_use","id":"1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"2","name":"read","input":{}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]},`+
		`{"type":"tool_result","tool_use_id":"2","is_error":true,"content":[{"type":"text","text":"failed: timeout"}]},{"type":"text","text":"be quick"}]},`+
		`{"role":"assistant","content":[{"type":"tool_use","id":"3","name":"grep","input":{}},{"type":"tool_use","id":"4","name":"grep","input":{}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"3"},`+
		`{"type":"tool_result","tool_use_id":"4","is_error":true,"content":[{"type":"text","text":"failed: timeout"}]}]},`+
		`{"role":"assistant","content":[{"type":"text","text":"and so"}]}]}`, string(body))

	req = message.ModelRequest{Messages: message.MessagesOf(message.UserText("hi"), assistant(call("1", "gone", `{}`)), result("1", "gone", "x"))}
	body = strictwire.RenderAnthropic(req)
	assert.Nil(t, strictwire.CheckAnthropic(body))
	assert.Contains(t, string(body), `"tools":[{"name":"gone","input_schema":{"type":"object"}}]`, "what was called is declared")
	assert.Contains(t, string(body), `{"model":"claude","max_tokens":4096,`)
}

// damaged are histories that at least one vendor refuses.
func damaged() map[string][]message.Message {
	u, long := message.UserText("hi"), strings.Repeat("x", 41)
	one := assistant(call("1", "read", "{}"))
	two := assistant(call("1", "read", "{}"), call("2", "read", "{}"))
	return map[string][]message.Message{
		"no result":                        {u, one},
		"no result, and the user goes on":  {u, one, u},
		"one of two results":               {u, two, result("2", "read", "y")},
		"a result of nobody":               {u, result("1", "read", "x")},
		"a result of nobody among others":  {u, one, result("1", "read", "x"), result("7", "read", "?")},
		"a result twice":                   {u, one, result("1", "read", "x"), result("1", "read", "x")},
		"a result twice, later":            {u, one, result("1", "read", "x"), u, result("1", "read", "x")},
		"a result after a user's message":  {u, one, u, result("1", "read", "x")},
		"a result after the next call":     {u, one, assistant(call("2", "read", "{}")), result("2", "read", "y"), result("1", "read", "x")},
		"a result before its call":         {u, result("1", "read", "x"), one},
		"no ids":                           {u, assistant(call("", "read", "{}")), result("", "read", "x")},
		"one id for two calls":             {u, assistant(call("1", "read", "{}"), call("1", "read", "{}")), result("1", "read", "x"), result("1", "read", "y")},
		"the id of an earlier call":        {u, one, result("1", "read", "x"), one, result("1", "read", "y")},
		"an id with a colon":               {u, assistant(call("read:0", "read", "{}")), result("read:0", "read", "x")},
		"an id that is too long":           {u, assistant(call(long, "read", "{}")), result(long, "read", "x")},
		"a made-up name":                   {u, assistant(call("1", "my tool", "{}")), result("1", "my tool", "no such tool")},
		"arguments that were cut off":      {u, assistant(call("1", "read", `{"p":`)), result("1", "read", "x")},
		"arguments that are no object":     {u, assistant(call("1", "read", `[]`)), result("1", "read", "x")},
		"arguments with half an emoji":     {u, assistant(call("1", "read", `{"p":"\ud83d"}`)), result("1", "read", "x")},
		"no arguments":                     {u, assistant(call("1", "read", ``)), result("1", "read", "x")},
		"an empty answer":                  {u, assistant(), u},
		"an empty text":                    {u, assistant(message.TextBlock("")), u},
		"nothing but reasoning":            {u, assistant(message.Block{Kind: message.BlockReasoning, Text: "hm"}), u},
		"an empty question":                {message.UserText("")},
		"a conversation without beginning": {assistant(message.TextBlock("x")), u},
	}
}

func refusals(t require.TestingT, ms []message.Message) (refused []string) {
	for name, s := range servers(says("ok")) {
		_, err := provider.Collect(s.Stream(context.Background(), request(ms...)))
		for _, r := range s.Rejections() {
			refused = append(refused, fmt.Sprintf("%s: %s: %s", name, r.Rule, r.Message))
		}
		require.Equal(t, len(s.Rejections()) == 0, err == nil, "%v", err)
	}
	return refused
}

func TestRepairedHistoriesPassAndDamagedOnesDoNot(t *testing.T) {
	t.Parallel()
	for name, ms := range damaged() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, refusals(t, ms), "no server minds")
			repaired, problems := history.Repair(ms)
			require.NotEmpty(t, problems)
			if len(repaired) == 0 {
				repaired = []message.Message{message.UserText("hi")} // nothing was left: the next question comes first
			}
			assert.Empty(t, refusals(t, repaired))
		})
	}
}

// Any history at all: what Repair makes of it, both vendors take.
func TestAnyRepairedHistoryPasses(t *testing.T) {
	t.Parallel()
	damaged, refused := 0, 0
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
		id := func() string { return pick("id", "", "1", "2", "3", "call_repaired_1", "call_repaired_2", "a:b") }
		tool := func() string { return pick("tool", "read", "grep", "", "a b") }
		ms := []message.Message{}
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			switch rapid.IntRange(0, 3).Draw(t, "role") {
			case 0:
				ms = append(ms, message.UserText(pick("text", "hi", " ", "\xff")))
			case 1:
				blocks := []message.Block{}
				for range rapid.IntRange(0, 4).Draw(t, "blocks") {
					switch rapid.IntRange(0, 3).Draw(t, "kind") {
					case 0:
						blocks = append(blocks, message.TextBlock(pick("text", "ok ", "", "\n")))
					case 1:
						blocks = append(blocks, message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: message.JSON(pick("meta", "", `{"anthropic":{"signature":"s"}}`))})
					default:
						blocks = append(blocks, call(id(), tool(), pick("args", "{}", "", "[]", `{"p":"\ud800"}`, ` {"p":1} `, "\xff")))
					}
				}
				ms = append(ms, assistant(blocks...))
			case 2:
				ms = append(ms, result(id(), tool(), pick("text", "x", "", " ", "\xf0\x9f")))
			case 3:
				ms = append(ms, message.Message{Role: message.RoleTool, CallID: id(), Tool: tool(), Result: message.ToolResult{Failure: message.FailCancelled}})
			}
		}
		repaired, problems := history.Repair(ms)
		if len(problems) > 0 {
			damaged++
			refused += min(1, len(refusals(t, append(ms, message.UserText("next")))))
		}
		require.Empty(t, refusals(t, append(repaired, message.UserText("next"))), "%v", problems)
	})
	t.Logf("%d of %d damaged histories were refused before they were repaired", refused, damaged)
	assert.Greater(t, refused, damaged/2, "the servers mind too little to prove anything")
}

// tenMessages returns a history of ten messages.
func tenMessages() []message.Message {
	var ms []message.Message
	for i := range 2 {
		a, b := fmt.Sprintf("call_a%024d", i), fmt.Sprintf("call_b%024d", i)
		ms = append(ms, message.UserText("What is in the file, and where is it used?"),
			assistant(message.TextBlock("I look."), call(a, "read", `{"path":"docs/index.md"}`), call(b, "grep", `{"pattern":"index"}`)),
			result(a, "read", strings.Repeat("a line of the file\n", 10)), result(b, "grep", "nothing"), assistant(message.TextBlock("It is not used.")))
	}
	return ms
}

func BenchmarkRequest(b *testing.B) {
	req := request(append(tenMessages()[:9], message.UserText("Sure?"))...)
	for name, s := range servers(says("ok")) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range s.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
