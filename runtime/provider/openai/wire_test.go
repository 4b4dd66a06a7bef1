package openai_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// wires are the dialects and what they all mean.
func wires() map[string]message.ModelReply {
	text := message.TextBlock(`I look — at "both".`)
	thought := reasoning("Both are needed.")
	usage := message.Usage{Input: 120, Output: 48}
	return map[string]message.ModelReply{
		"openai.sse": {
			Content: message.ListOf(text, call("call_Ab1", "read", `{"path":"a.txt"}`), call("call_Cd2", "read", `{"path":"b.txt"}`)),
			Finish:  message.FinishTools, Usage: message.Usage{Input: 120, Output: 48, CacheRead: 64, Reasoning: 12},
		},
		"vllm.sse": {
			Content: message.ListOf(thought, text, call("chatcmpl-tool-1a", "read", `{"path": "a.txt"}`), call("chatcmpl-tool-2b", "read", `{"path": "b.txt"}`)),
			Finish:  message.FinishTools, Usage: usage,
		},
		"llamacpp.sse": {
			Content: message.ListOf(thought, text, call("call_1_0", "read", `{"path":"a.txt"}`), call("call_1_1", "read", `{"path":"b.txt"}`)),
			Finish:  message.FinishTools, Usage: usage,
		},
		"ollama.sse": {
			Content: message.ListOf(thought, text, call("call_x", "read", `{"path":"a.txt"}`), call("call_1_1", "read", `{"path":"b.txt"}`)),
			Finish:  message.FinishTools, Usage: message.Usage{Input: 29, Output: 20}, // estimated
		},
	}
}

func TestDialects(t *testing.T) {
	t.Parallel()
	for name, want := range wires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answers(t.Context(), composed(t, name))
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

// Wherever the network cuts a stream into pieces, the chunks are the same.
func TestEverySplitGivesTheSameChunks(t *testing.T) {
	t.Parallel()
	for name := range wires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire := composed(t, name)
			want, err := chunks(asks(serves(strings.NewReader(wire)), nil).Stream(t.Context(), hello()))
			require.NoError(t, err)
			got, err := chunks(asks(serves(iotest.OneByteReader(strings.NewReader(wire))), nil).Stream(t.Context(), hello()))
			require.NoError(t, err)
			assert.Equal(t, want, got, "byte by byte")
			for at := range len(wire) {
				two := serves(&pieces{[]string{wire[:at], wire[at:]}})
				got, err := chunks(asks(two, nil).Stream(t.Context(), hello()))
				require.NoError(t, err, "cut at %d", at)
				require.Equal(t, want, got, "cut at %d", at)
			}
		})
	}
}

// pieces is a reader of which each Read returns one of them.
type pieces struct{ left []string }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return bytes.NewReader(nil).Read(b)
	}
	n := copy(b, p.left[0])
	if p.left[0] = p.left[0][n:]; p.left[0] == "" {
		p.left = p.left[1:]
	}
	return n, nil
}

// chunkOf writes a chunk with one choice, as an event.
func chunkOf(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

func says(text string) string { return chunkOf(`{"content":"`+text+`"}`, "null") }

func callsWith(entries string) string { return chunkOf(`{"tool_calls":[`+entries+`]}`, "null") }

const (
	ends  = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done  = "data: [DONE]\n\n"
	whole = ends + done
)

func TestFraming(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string]string{
		"plain":                    says("hi") + whole,
		"CR LF":                    strings.ReplaceAll(says("hi")+whole, "\n", "\r\n"),
		"CR":                       strings.ReplaceAll(says("hi")+whole, "\n", "\r"),
		"byte order mark":          "\xEF\xBB\xBF" + says("hi") + whole,
		"no blank":                 strings.ReplaceAll(says("hi")+whole, "data: ", "data:"),
		"comments":                 ":\n: PING\n\n" + says("hi") + ": a\n: b\n\n" + whole,
		"other fields":             "retry: 100\nid: 1\nevent: message\n" + says("hi") + "id: 2\n\n" + whole,
		"empty data":               "data:\n\ndata: \n\n" + says("hi") + whole,
		"data in several lines":    strings.Replace(says("hi"), `"choices":`, "\"choices\":\ndata: ", 1) + whole,
		"no empty lines":           strings.ReplaceAll(says("hi")+whole, "\n\n", "\n"),
		"no [DONE]":                says("hi") + ends,
		"no end of the last event": says("hi") + strings.TrimSpace(ends),
		"[DONE] without its end":   says("hi") + ends + "data: [DONE]",
		"text behind [DONE]":       says("hi") + whole + "nonsense",
		"two values in one event":  strings.TrimSpace(says("h")) + strings.TrimPrefix(strings.TrimSpace(says("i")), "data:") + "\n\n" + whole,
		"the finish in each event": chunkOf(`{"content":"h"}`, "stop") + chunkOf(`{"content":"i"}`, "stop") + done,
		"the finish and the text":  chunkOf(`{"content":"hi"}`, "stop"),
		"a list of parts":          chunkOf(`{"content":[{"type":"text","text":"h"},7,{"text":"i","type":"text"}]}`, "stop"),
		"no stream inside":         `data: {"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}` + "\n\n",
		"the answer repeated":      says("hi") + `data: {"choices":[{"delta":{},"message":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n",
		"nulls":                    `data: {"choices":null,"usage":null,"error":null}` + "\n\n" + `data: {"choices":[{"delta":null,"finish_reason":null}]}` + "\n\n" + chunkOf(`{"content":"hi","tool_calls":null,"function_call":null,"reasoning":null}`, "stop"),
		"numbers for texts": chunkOf(`{"content":7,"reasoning":true,"tool_calls":[{"index":1e99,"id":7,"function":{"name":0,"arguments":1}}]}`, "null") +
			says("hi") + whole,
		"nulls in lists":      `data: {"choices":[null],"usage":"none"}` + "\n\n" + chunkOf(`{"tool_calls":[null]}`, "null") + says("hi") + whole,
		"the answer in front": `data: {"choices":[{"message":{"content":"ho"},"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n",
		"half characters": chunkOf(`{"content":"h\ud83d"}`, "null") + chunkOf(`{"content":""}`, "null") +
			chunkOf(`{"content":"\ude00i"}`, "null") + whole,
		"halves without another": chunkOf(`{"content":"h\ud83d"}`, "null") + chunkOf(`{"content":"i"}`, "null") + chunkOf(`{"content":"\ude00\ud83d"}`, "stop"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answers(t.Context(), wire)
			require.NoError(t, err)
			want := "hi"
			switch name {
			case "half characters":
				want = "h😀i"
			case "halves without another":
				want = "h\uFFFDi\uFFFD\uFFFD"
			}
			assert.Equal(t, want, got.Text())
			assert.Equal(t, message.FinishStop, got.Finish)
		})
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	a, b := `{"p":"a"}`, `{"p":"b"}`
	qa, qb := `"{\"p\":\"a\"}"`, `"{\"p\":\"b\"}"`
	two := []message.Block{call("1", "x", a), call("2", "x", b)}
	made := []message.Block{call("call_1_0", "x", a), call("call_1_1", "x", b)}
	fn := func(args string) string { return `"function":{"name":"x","arguments":` + args + `}` }
	for name, tc := range map[string]struct {
		wire string
		want []message.Block
	}{
		"in order":            {callsWith(`{"index":0,"id":"1",`+fn(qa)+`}`) + callsWith(`{"index":1,"id":"2",`+fn(qb)+`}`), two},
		"in one chunk":        {callsWith(`{"index":0,"id":"1",` + fn(qa) + `},{"index":1,"id":"2",` + fn(qb) + `}`), two},
		"interleaved":         {callsWith(`{"index":0,"id":"1",`+fn(`""`)+`},{"index":7,"id":"2",`+fn(`"{"`)+`}`) + callsWith(`{"index":0,"function":{"arguments":`+qa+`}}`) + callsWith(`{"index":7,"function":{"arguments":"\"p\":\"b\"}"}}`), two},
		"no index":            {callsWith(`{"id":"1",`+fn(`"{"`)+`}`) + callsWith(`{"function":{"arguments":"\"p\":\"a\"}"}}`) + callsWith(`{"id":"2",`+fn(qb)+`}`), two},
		"no index, by id":     {callsWith(`{"id":"1",`+fn(`"{"`)+`},{"id":"2",`+fn(qb)+`}`) + callsWith(`{"id":"1","function":{"arguments":"\"p\":\"a\"}"}}`), two},
		"null index":          {callsWith(`{"index":null,"id":"1",`+fn(qa)+`}`) + callsWith(`{"index":null,"id":"2",`+fn(qb)+`}`), two},
		"index from then on":  {callsWith(`{"id":"1",`+fn(`"{"`)+`}`) + callsWith(`{"index":0,"function":{"arguments":"\"p\":\"a\"}"}}`), two[:1]},
		"all have index 0":    {callsWith(`{"index":0,"id":"1",`+fn(qa)+`}`) + callsWith(`{"index":0,"id":"2",`+fn(qb)+`}`), two},
		"no ids":              {callsWith(`{"index":0,`+fn(qa)+`}`) + callsWith(`{"index":1,"id":null,`+fn(qb)+`}`), made},
		"nothing at all":      {callsWith(fmtEntry(fn(qa)) + "," + fmtEntry(fn(qb))), made},
		"nothing, in two":     {callsWith(fmtEntry(fn(qa))) + callsWith(fmtEntry(fn(qb))), made},
		"no args, in one":     {callsWith(fmtEntry(fn(`""`)) + "," + fmtEntry(fn(`""`))), []message.Block{call("call_1_0", "x", ""), call("call_1_1", "x", "")}},
		"the same id":         {callsWith(`{"index":0,"id":"1",`+fn(qa)+`}`) + callsWith(`{"index":1,"id":"1",`+fn(qb)+`}`), []message.Block{two[0], made[1]}},
		"the same id, index":  {callsWith(`{"index":0,"id":"1",`+fn(qa)+`}`) + callsWith(`{"index":0,"id":"1",`+fn(qb)+`}`), []message.Block{two[0], made[1]}},
		"an id for each":      {callsWith(`{"index":0,"id":"1",`+fn(`"{"`)+`}`) + callsWith(`{"index":0,"id":"9","function":{"arguments":"\"p\":\"a\"}"}}`), two[:1]},
		"an id, no index":     {callsWith(`{"id":"1",`+fn(`"{"`)+`}`) + callsWith(`{"id":"9","function":{"arguments":"\"p\":\"a\"}"}}`), two[:1]},
		"name repeated":       {callsWith(`{"index":0,"id":"1",`+fn(`"{"`)+`}`) + callsWith(`{"index":0,"id":"1",`+fn(`"\"p\":\"a\"}"`)+`}`) + callsWith(`{"index":0,"id":"1",`+fn(`"\n"`)+`}`), []message.Block{call("1", "x", a+"\n")}},
		"name later":          {callsWith(`{"index":0,"id":"1","function":{"arguments":"{"}}`) + callsWith(`{"index":0,`+fn(`"\"p\":\"a\"}"`)+`}`), two[:1]},
		"id, then name":       {callsWith(`{"index":0,"id":"1"}`) + callsWith(`{"index":0,`+fn(qa)+`}`), two[:1]},
		"an object":           {callsWith(`{"index":0,"id":"1",` + fn(a) + `}`), two[:1]},
		"null arguments":      {callsWith(`{"index":0,"id":"1",` + fn(`null`) + `}`), []message.Block{call("1", "x", "")}},
		"the old form":        {chunkOf(`{"function_call":{"name":"x","arguments":"{"}}`, "null") + chunkOf(`{"function_call":{"arguments":"\"p\":\"a\"}"}}`, "null"), made[:1]},
		"empty entries":       {callsWith(`{}`) + callsWith(`{"index":0,"id":"1",`+fn(qa)+`}`) + callsWith(`{},{"index":0}`), two[:1]},
		"half characters":     {callsWith(`{"index":0,"id":"1",`+fn(`"\"\ud83d"`)+`}`) + callsWith(`{"index":0,"function":{"arguments":"\ude00\""}}`), []message.Block{call("1", "x", `"😀"`)}},
		"brackets in strings": {callsWith(`{"index":0,"id":"1",`+fn(`"{\"p\":\"}\\\"\""`)+`}`) + callsWith(`{"index":0,"id":"1",`+fn(`"{\"q\":1}}"`)+`}`), []message.Block{call("1", "x", `{"p":"}\""{"q":1}}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{whole, chunkOf(`{}`, "tool_calls"), chunkOf(`{}`, "whatever") + done} {
				got, err := answers(t.Context(), tc.wire+end)
				require.NoError(t, err)
				assert.Equal(t, message.FinishTools, got.Finish)
				assert.Equal(t, tc.want, got.Content.Slice())
			}
		})
	}
}

func fmtEntry(s string) string { return "{" + s + "}" }

// A short list on the wire would be a long one in memory.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		`{"choices":[{}` + strings.Repeat(",{}", 1024) + `]}`,
		`{"choices":[{"delta":{"tool_calls":[{}` + strings.Repeat(",{}", 1024) + `]}}]}`,
	} {
		_, err := answers(t.Context(), "data: "+wire+"\n\n"+whole)
		require.ErrorIs(t, err, provider.ErrProtocol)
		assert.ErrorContains(t, err, "more than 1024 choices or parts of tool calls")
	}
}

func TestACallThatIsCutOff(t *testing.T) {
	t.Parallel()
	first := `{"index":0,"id":"1","function":{"name":"x","arguments":"{}"}}`
	got, err := chunks(asks(serves(strings.NewReader(callsWith(first+`,{"index":1,"id":"2","function":{"name":"x","arguments":"{\"p"}}`)+chunkOf(`{}`, "length"))), nil).Stream(t.Context(), hello()))
	require.NoError(t, err)
	var ended []int
	for _, c := range got {
		if c.Kind == message.ChunkCallEnd {
			ended = append(ended, c.Index)
		}
	}
	assert.Equal(t, []int{0}, ended, "the last one has no end")

	reply, err := answers(t.Context(), callsWith(first+`,{"index":1,"id":"2"}`)+chunkOf(`{}`, "length"))
	require.NoError(t, err)
	assert.Equal(t, []message.Block{call("1", "x", "{}")}, reply.Content.Slice(), "cut before its name")
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]message.FinishReason{
		"stop": message.FinishStop, "STOP": message.FinishStop, "eos": message.FinishStop, "end_turn": message.FinishStop,
		"length": message.FinishLength, "MAX_TOKENS": message.FinishLength, "model_length": message.FinishLength,
		"content_filter": message.FinishFilter, "SAFETY": message.FinishFilter, "refusal": message.FinishFilter,
		"tool_calls": message.FinishStop, // there are none
		"something":  message.FinishOther,
	} {
		got, err := answers(t.Context(), says("a")+chunkOf(`{}`, reason))
		require.NoError(t, err, reason)
		assert.Equal(t, want, got.Finish, reason)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wire string
		want message.Usage
	}{
		"in each chunk":     {`data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}` + "\n\n" + `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n", message.Usage{Input: 5, Output: 2}},
		"behind the finish": {says("a") + ends + `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_cache_hit_tokens":3}}` + "\n\n", message.Usage{Input: 5, Output: 2, CacheRead: 3}},
		"odd numbers":       {says("a") + ends + `data: {"usage":{"prompt_tokens":5.0,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":1e1},"completion_tokens_details":{"reasoning_tokens":1e400}}}` + "\n\n", message.Usage{Input: 5, CacheRead: 10}},
		"no numbers":        {says("a") + ends + `data: {"usage":{"prompt_tokens":"5","completion_tokens":null,"prompt_tokens_details":"x","completion_tokens_details":[1]}}` + "\n\n", message.Usage{Input: 29, Output: 1}},
		"zeros at the end":  {`data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n" + says("a") + ends + `data: {"usage":{"prompt_tokens":0,"completion_tokens":0}}` + "\n\n", message.Usage{Input: 5, Output: 2}},
		"none":              {says("abcde") + ends + `data: {"usage":"none"}` + "\n\n", message.Usage{Input: 29, Output: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answers(t.Context(), tc.wire)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got.Usage)
		})
	}
}
