package anthropic_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// rich is an answer with all that one may have, composed from the vendor's documentation.
func rich() string {
	return says(begin, ping,
		starts(0, `{"type":"thinking","thinking":"","signature":""}`), adds(0, `{"type":"thinking_delta","thinking":"Both "}`),
		adds(0, `{"type":"thinking_delta","thinking":"are needed."}`), adds(0, `{"type":"signature_delta","signature":"c2ln"}`), ends(0),
		starts(1, `{"type":"redacted_thinking","data":"ZW5j"}`), ends(1),
		starts(2, `{"type":"text","text":""}`), ping, adds(2, `{"type":"text_delta","text":"I look — "}`), adds(2, `{"type":"text_delta","text":"at \"both\" 😀."}`), ends(2),
		starts(3, `{"type":"tool_use","id":"toolu_1","name":"read","input":{}}`), adds(3, `{"type":"input_json_delta","partial_json":""}`),
		adds(3, `{"type":"input_json_delta","partial_json":"{\"path\":"}`), adds(3, `{"type":"input_json_delta","partial_json":" \"a.txt\"}"}`), ends(3),
		starts(4, `{"type":"tool_use","id":"toolu_2","name":"list","input":{}}`), ends(4),
		stops("tool_use"), halt)
}

func richReply() message.ModelReply {
	return message.ModelReply{
		Content: message.ListOf(
			thought("Both are needed.", adaptive, "c2ln"),
			message.Block{Kind: message.BlockReasoning, Meta: `{"anthropic":{"model":"` + adaptive + `","block":{"type":"redacted_thinking","data":"ZW5j"}}}`},
			message.TextBlock(`I look — at "both" 😀.`),
			call("toolu_1", "read", `{"path": "a.txt"}`), call("toolu_2", "list", `{}`)),
		Finish: message.FinishTools,
		Usage:  message.Usage{Input: 1320, Output: 50, CacheRead: 1000, CacheWrite: 300, Reasoning: 12},
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	got, err := answers(t, rich())
	require.NoError(t, err)
	assert.Equal(t, richReply(), got)

	// What came goes back as it was.
	req := hello()
	req.Messages = message.MessagesOf(message.UserText("a"), message.Message{Role: message.RoleAssistant, Content: got.Content}, result("toolu_1"), result("toolu_2"))
	assert.Contains(t, body(t, req), `{"role":"assistant","content":[{"type":"thinking","thinking":"Both are needed.","signature":"c2ln"},{"type":"redacted_thinking","data":"ZW5j"},`)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	said := []string{begin, starts(0, `{"type":"text","text":""}`), adds(0, `{"type":"text_delta","text":"so"}`), ends(0)}
	and := func(events ...string) string { return says(append(said[:len(said):len(said)], events...)...) }
	use := `{"type":"tool_use","id":"t","name":"read","input":{}}`
	piece := func(at int, json string) string {
		return adds(at, `{"type":"input_json_delta","partial_json":"`+json+`"}`)
	}
	raw := `{"anthropic":{"model":"` + adaptive + `","block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}}}`
	for name, tc := range map[string]struct {
		wire   string
		finish message.FinishReason
		want   []message.Block
	}{
		"an end":             {and(stops("end_turn"), halt), message.FinishStop, []message.Block{message.TextBlock("so")}},
		"a stop text":        {and(stops("stop_sequence"), halt), message.FinishStop, []message.Block{message.TextBlock("so")}},
		"the limit":          {and(stops("max_tokens"), halt), message.FinishLength, []message.Block{message.TextBlock("so")}},
		"a full window":      {and(stops("model_context_window_exceeded"), halt), message.FinishLength, []message.Block{message.TextBlock("so")}},
		"a refusal":          {and(`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber"}},"usage":{"output_tokens":1}}`, halt), message.FinishFilter, []message.Block{message.TextBlock("so")}},
		"a refusal at all":   {says(begin, stops("refusal"), halt), message.FinishFilter, nil},
		"a new reason":       {and(stops("bored"), halt), message.FinishOther, []message.Block{message.TextBlock("so")}},
		"no tools after all": {and(stops("tool_use"), halt), message.FinishStop, []message.Block{message.TextBlock("so")}},
		"a call and an end":  {and(starts(1, use), piece(1, "{}"), ends(1), stops("end_turn"), halt), message.FinishTools, []message.Block{message.TextBlock("so"), call("t", "read", "{}")}},
		"a pause": {and(starts(1, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), piece(1, `{\"query\":`), piece(1, `\"x\"}`), ends(1), stops("pause_turn"), halt),
			message.FinishPause, []message.Block{message.TextBlock("so"), {Kind: message.BlockReasoning, Meta: message.JSON(raw)}}},
		"thinking without text": {says(begin, starts(0, `{"type":"thinking","thinking":"","signature":""}`), adds(0, `{"type":"signature_delta","signature":"s"}`), ends(0), stops("end_turn"), halt),
			message.FinishStop, []message.Block{thought("", adaptive, "s")}},
		"texts one after another": {and(starts(1, `{"type":"text","text":"a"}`), ends(1), stops("end_turn"), halt), message.FinishStop,
			[]message.Block{{Kind: message.BlockText, Text: "so", Meta: `{"anthropic":{}}`}, message.TextBlock("a")}},
		"citations": {says(begin, starts(0, `{"type":"text","text":"","citations":[]}`), adds(0, `{"type":"text_delta","text":"so"}`), adds(0, `{"type":"citations_delta","citation":{"url":"u"}}`), ends(0), stops("end_turn"), halt),
			message.FinishStop, []message.Block{{Kind: message.BlockText, Text: "so", Meta: `{"anthropic":{"citations":[{"url":"u"}]}}`}}},
		"halves of characters": {says(begin, starts(0, `{"type":"text","text":""}`), adds(0, `{"type":"text_delta","text":"a\ud83d"}`), adds(0, `{"type":"text_delta","text":"\ude00b\ud83d"}`), ends(0),
			starts(1, use), piece(1, `{\"a\":\"\ud83d`), piece(1, `\ude00\"}`), ends(1), stops("tool_use"), halt), message.FinishTools, []message.Block{message.TextBlock("a😀b\uFFFD"), call("t", "read", `{"a":"😀"}`)}},
		"thinking that lost half a character": {says(begin, starts(0, `{"type":"thinking","thinking":"","signature":""}`), adds(0, `{"type":"thinking_delta","thinking":"a\ud83d"}`), adds(0, `{"type":"signature_delta","signature":"s"}`), ends(0), stops("end_turn"), halt),
			message.FinishStop, []message.Block{{Kind: message.BlockReasoning, Text: "a\uFFFD", Meta: `{"anthropic":{"model":"` + adaptive + `"}}`}}},
		"unknown events and deltas": {and(`{"type":"weather","index":7}`, starts(1, `{"type":"text","text":""}`), adds(1, `{"type":"colour_delta","colour":"red"}`), ends(1), ends(7), stops("end_turn"), halt), message.FinishStop, []message.Block{message.TextBlock("so")}},
		"mixed calls": {says(begin, starts(0, use), starts(1, `{"type":"tool_use","id":"u","name":"list","input":{}}`), piece(0, `{\"a\":`), piece(1, `{\"b\":`), piece(0, `1}`), piece(1, `2}`), ends(1), ends(0), stops("tool_use"), halt),
			message.FinishTools, []message.Block{call("t", "read", `{"a":1}`), call("u", "list", `{"b":2}`)}},
		"one id twice, and none": {says(begin, starts(0, use), ends(0), starts(1, use), ends(1), starts(2, `{"type":"tool_use","name":"read"}`), ends(2), stops("tool_use"), halt),
			message.FinishTools, []message.Block{call("t", "read", "{}"), call("call_1_1", "read", "{}"), call("call_1_2", "read", "{}")}},
		"whole arguments at once": {says(begin, starts(0, `{"type":"tool_use","id":"t","name":"read","input":{"path":"a"}}`), ends(0), stops("tool_use"), halt),
			message.FinishTools, []message.Block{call("t", "read", `{"path":"a"}`)}},
		"events as other servers write them": {": hi\r\nevent: ping\n\n" + strings.ReplaceAll(says(`{"error":null,"type":"ping"}`, said[1], adds(0, `{"type":"x","error":{"message":"y"}}`), said[2], said[3], stops("end_turn"), halt), `,"index"`, ",\ndata: \"index\""),
			message.FinishStop, []message.Block{message.TextBlock("so")}},
		"a block that is no Unicode": {says(begin, starts(0, `{"type":"server_tool_use","input":"`+"\xe4"+`"}`), ends(0), stops("pause_turn"), halt), message.FinishPause,
			[]message.Block{{Kind: message.BlockReasoning, Meta: `{"anthropic":{"model":"` + adaptive + `","block":{"type":"server_tool_use","input":"` + "\uFFFD" + `"}}}`}}},
		"a call that is cut off": {says(begin, starts(0, use), piece(0, `{\"a\":1`), ends(0), stops("max_tokens"), halt), message.FinishLength, []message.Block{call("t", "read", `{"a":1`)}},
		"a call cut at once":     {says(begin, starts(0, use), ends(0), stops("max_tokens"), halt), message.FinishLength, []message.Block{call("t", "read", "")}},
		"a call before the cut":  {says(begin, starts(0, use), ends(0), starts(1, `{"type":"text","text":"a"}`), stops("max_tokens"), halt), message.FinishLength, []message.Block{call("t", "read", "{}"), message.TextBlock("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answers(t, tc.wire)
			require.NoError(t, err)
			assert.Equal(t, tc.finish, got.Finish)
			if tc.want == nil {
				assert.Zero(t, got.Content.Len())
				return
			}
			assert.Equal(t, tc.want, got.Content.Slice())
		})
	}
}

// A call that the limit has cut off has no end, so that nobody takes it for whole.
func TestACallThatIsCutOffHasNoEnd(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"max_tokens", "refusal", "model_context_window_exceeded"} {
		wire := says(begin, starts(0, `{"type":"tool_use","id":"t","name":"read","input":{}}`), ends(0), stops(reason), halt)
		all, err := chunks(asks(serves(strings.NewReader(wire)), nil).Stream(t.Context(), hello()))
		require.NoError(t, err)
		require.Len(t, all, 2, reason)
		assert.Equal(t, message.ChunkFinish, all[1].Kind)
	}
}

func TestUsageThatNobodyCounted(t *testing.T) {
	t.Parallel()
	got, err := answers(t, says(`{"type":"message_start","message":{"usage":null}}`, starts(0, `{"type":"text","text":"four"}`), ends(0), `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, halt))
	require.NoError(t, err)
	assert.Positive(t, got.Usage.Input)
	assert.Equal(t, int64(1), got.Usage.Output)
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	text := starts(0, `{"type":"text","text":""}`)
	use := starts(0, `{"type":"tool_use","id":"t","name":"read","input":{}}`)
	for name, tc := range map[string]struct {
		wire string
		want error
	}{
		"nothing":                 {"", provider.ErrNoFinish},
		"no stop":                 {says(begin, text, ends(0), stops("end_turn")), provider.ErrNoFinish},
		"a stop without a reason": {says(begin, text, ends(0), halt), provider.ErrNoFinish},
		"a block of nobody":       {says(begin, adds(0, `{"type":"text_delta","text":"a"}`)), provider.ErrProtocol},
		"a block twice":           {says(begin, text, ends(0), text), provider.ErrProtocol},
		"text in a call":          {says(begin, use, adds(0, `{"type":"text_delta","text":"a"}`)), provider.ErrProtocol},
		"arguments in a text":     {says(begin, text, adds(0, `{"type":"input_json_delta","partial_json":"{}"}`)), provider.ErrProtocol},
		"a signature of a text":   {says(begin, text, adds(0, `{"type":"signature_delta","signature":"s"}`)), provider.ErrProtocol},
		"mixed texts":             {says(begin, text, starts(1, `{"type":"text","text":""}`), adds(0, `{"type":"text_delta","text":"a"}`)), provider.ErrProtocol},
		"arguments after the end": {says(begin, use, ends(0), adds(0, `{"type":"input_json_delta","partial_json":"{}"}`)), provider.ErrProtocol},
		"a call without a name":   {says(begin, starts(0, `{"type":"tool_use","id":"t","input":{}}`)), provider.ErrProtocol},
		"a call without an end":   {says(begin, use, stops("tool_use"), halt), provider.ErrProtocol},
		"an id without end":       {says(begin, starts(0, `{"type":"tool_use","id":"`+strings.Repeat("x", 2000)+`","name":"read"}`)), provider.ErrProtocol},
		"a block that is none":    {says(begin, starts(0, `7`)), provider.ErrProtocol},
		"a text that is none":     {says(begin, text, adds(0, `{"type":"text_delta","text":["a"]}`)), provider.ErrProtocol},
		"garbage":                 {says(begin, text) + "garbage\n\n", provider.ErrProtocol},
		"no JSON":                 {says(begin) + "event: ping\ndata: {]\n\n", provider.ErrProtocol},
		"no object":               {says(begin) + "event: ping\ndata: 7\n\n", provider.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answers(t, tc.wire)
			require.ErrorIs(t, err, tc.want)
			assert.True(t, strings.HasPrefix(err.Error(), "anthropic: "), err)
			assert.Empty(t, got.Finish)
			for _, b := range got.Content.All() {
				assert.Equal(t, message.BlockText, b.Kind)
			}
		})
	}
	var many []string
	for i := range 1100 {
		many = append(many, starts(i, `{"type":"tool_use","id":"t","name":"read","input":{}}`))
	}
	_, err := answers(t, says(many...))
	require.ErrorIs(t, err, provider.ErrProtocol)
}

// Wherever the network cuts a stream into pieces, the chunks are the same.
func TestEverySplitGivesTheSameChunks(t *testing.T) {
	t.Parallel()
	wire := rich()
	want, err := chunks(asks(serves(strings.NewReader(wire)), nil).Stream(t.Context(), hello()))
	require.NoError(t, err)
	for at := range len(wire) {
		got, err := chunks(asks(serves(&parts{wire[:at], wire[at:]}), nil).Stream(t.Context(), hello()))
		require.NoError(t, err, "split at %d", at)
		require.Equal(t, want, got, "split at %d", at)
	}
	got, err := chunks(asks(serves(iotest.OneByteReader(strings.NewReader(wire))), nil).Stream(t.Context(), hello()))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// A stream that is cut anywhere before its last event is no answer, and no call of it is whole
// unless all of its arguments have come.
func TestNoCutStreamIsAnAnswer(t *testing.T) {
	t.Parallel()
	wire := rich()
	last := strings.LastIndex(wire, "data: ") + len("data: ") + len(halt)
	for at := range last {
		for _, end := range []error{nil, iotest.ErrTimeout} {
			var from = serves(strings.NewReader(wire[:at]))
			if end != nil {
				from = serves(&parts{wire[:at], ""}) // fails at its end
			}
			all, err := chunks(asks(from, nil).Stream(t.Context(), hello()))
			require.Error(t, err, "cut at %d", at)
			class, _ := provider.Classify(err)
			require.True(t, class.Passing(), "cut at %d: %v is %s", at, err, class)
			args := map[int]string{}
			for _, c := range all {
				switch c.Kind {
				case message.ChunkCallArgs:
					args[c.Index] += c.Text
				case message.ChunkCallEnd:
					require.Equal(t, `{"path": "a.txt"}`, args[c.Index], "cut at %d", at)
				}
				require.NotEqual(t, message.ChunkFinish, c.Kind, "cut at %d", at)
			}
		}
	}
}
