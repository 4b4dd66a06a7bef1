package strictwire_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

const (
	claudeModel  = "claude-sonnet-4-6"
	geminiModel  = "gemini-3-pro-preview"
	messagesPath = "/v1/messages"
	geminiPath   = "/v1beta/models/" + geminiModel + ":streamGenerateContent?alt=sse"
)

// breach plays a conversation that breaks a rule of headers or of what was answered before
// with its last request. other is a Signer of another vendor with the same key.
type breach struct {
	name, rule string
	wire       strictwire.Wire
	play       func(t *testing.T, h *strictwire.Handler)
}

// header returns a breach by a good body with other headers or another path.
func header(name, rule string, w strictwire.Wire, url, body string, change func(*http.Request)) breach {
	return breach{name, rule, w, func(t *testing.T, h *strictwire.Handler) { send(t, h, url, body, change) }}
}

// replay returns a breach by a change of the request that replays an answer.
func replay(name, rule string, w strictwire.Wire, change func(root map[string]any)) breach {
	return breach{name, rule, w, func(t *testing.T, h *strictwire.Handler) {
		url, body := replayed(t, h, w)
		status, response := send(t, h, url, body, nil)
		require.Equal(t, 200, status, response)
		send(t, h, url, edited(t, body, change), nil)
	}}
}

// replayed plays thinkingTurn with a client of the vendor and returns its second request.
func replayed(t *testing.T, h *strictwire.Handler, w strictwire.Wire) (url, body string) {
	t.Helper()
	switch w.Name() {
	case "messages":
		return messagesPath, messagesTurn(t, h)
	case "gemini":
		googleTurn(t, google(t, "http://strict.test", h.Client()), geminiModel)
		return geminiPath, h.Requests()[1].Body
	}
	return "/v1/responses", respondsTurn(t, h)
}

// messagesTurn plays thinkingTurn and returns the request with its results.
func messagesTurn(t *testing.T, h *strictwire.Handler) string {
	t.Helper()
	begin := `{"model":"` + claudeModel + `","max_tokens":4000,"stream":true,"thinking":{"type":"adaptive"},` +
		`"tools":[` + anTool("read", oaSchema) + `],"messages":[` + anUser + `]}`
	_, stream := send(t, h, messagesPath, begin, nil)
	got, err := recordings.Read(recordings.Recording{Wire: recordings.Anthropic}, []byte(stream))
	require.NoError(t, err)
	last := len(got.Signed) - 1 // the signature stands behind what is redacted
	answer := []any{map[string]any{"type": "thinking", "thinking": got.Reasoning, "signature": got.Signed[last]}}
	for _, data := range got.Signed[:last] {
		answer = append(answer, map[string]any{"type": "redacted_thinking", "data": data})
	}
	var results []any
	for _, c := range got.Calls {
		answer = append(answer, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": json.RawMessage(c.Arguments)})
		results = append(results, map[string]any{"type": "tool_result", "tool_use_id": c.ID, "content": "x"})
	}
	return edited(t, begin, func(root map[string]any) {
		root["messages"] = append(root["messages"].([]any), map[string]any{"role": "assistant", "content": answer}, map[string]any{"role": "user", "content": results})
	})
}

// respondsTurn plays thinkingTurn and returns the request with its results.
func respondsTurn(t *testing.T, h *strictwire.Handler) string {
	t.Helper()
	begin := `{"model":"gpt-5.6","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},` +
		`"input":[` + reUser + `]` + reTool("read", oaSchema, `,"strict":false`) + `}`
	_, stream := send(t, h, "/v1/responses", begin, nil)
	events := strings.Split(strings.TrimSpace(stream), "\n\n")
	_, last, ok := strings.Cut(events[len(events)-1], "data: ")
	require.True(t, ok)
	var done struct {
		Response struct{ Output []map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(last), &done))
	return edited(t, begin, func(root map[string]any) {
		input := root["input"].([]any)
		for _, item := range done.Response.Output {
			input = append(input, item)
		}
		for _, item := range done.Response.Output {
			if item["type"] == "function_call" {
				input = append(input, map[string]any{"type": "function_call_output", "call_id": item["call_id"], "output": "x"})
			}
		}
		root["input"] = input
	})
}

func breaches() []breach {
	a, g, r, c := strictwire.Messages(), strictwire.Gemini(), strictwire.Responses(), strictwire.Chat()
	foreign := &wire.Signer{Key: []byte("strictwire"), Vendor: "another"}
	content := func(root map[string]any) []any { return at(root, "messages", 1, "content").([]any) }
	part := func(root map[string]any, i int) map[string]any {
		return at(root, "contents", 1, "parts", i).(map[string]any)
	}
	item := func(root map[string]any, i int) map[string]any { return at(root, "input", i).(map[string]any) }
	without := func(root map[string]any, list string, i int) {
		l := root[list].([]any)
		root[list] = append(l[:i:i], l[i+1:]...)
	}
	noKey := func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Del("X-Goog-Api-Key") }
	stream := `,"stream":true`
	return []breach{
		header("another path", "path", a, "/v1/complete", bare(anUser, stream), nil),
		header("another path", "path", c, "/v1/completions", chat(oaUser, stream), nil),
		header("another path", "path", r, "/v1/chat/completions", respond(reUser, stream), nil),
		header("another path", "path", g, "/v1beta/models/gemini-3-pro:generateContent?alt=sse", generate(geUser), nil),
		header("no key", "auth", a, messagesPath, bare(anUser, stream), noKey),
		header("no key", "auth", c, "/v1/chat/completions", chat(oaUser, stream), noKey),
		header("no key", "auth", r, "/v1/responses", respond(reUser, stream), noKey),
		header("no key", "auth", g, geminiPath, generate(geUser), noKey),
		header("no alt", "alt", g, strings.TrimSuffix(geminiPath, "?alt=sse"), generate(geUser), nil),
		header("the old version", "version", a, messagesPath, bare(anUser, stream), func(r *http.Request) { r.Header.Set("Anthropic-Version", "2023-06-01") }),
		header("no version", "version", a, messagesPath, bare(anUser, stream), func(r *http.Request) { r.Header.Del("Anthropic-Version") }),

		replay("another text", "thinking-signed", a, func(root map[string]any) { content(root)[0].(map[string]any)["thinking"] = "The user wants to files." }),
		replay("another model", "thinking-signed", a, func(root map[string]any) { root["model"] = "claude-opus-4-6" }),
		replay("another vendor", "thinking-signed", a, func(root map[string]any) {
			b := content(root)[0].(map[string]any)
			b["signature"] = foreign.Sign(claudeModel, "thinking", b["thinking"].(string))
		}),
		replay("another signature", "redacted-signed", a, func(root map[string]any) {
			content(root)[1].(map[string]any)["data"] = foreign.Seal(claudeModel, "redacted", "secret")
		}),
		replay("missing", "thinking-kept", a, func(root map[string]any) { at(root, "messages", 1).(map[string]any)["content"] = content(root)[2:] }),
		replay("one missing", "thinking-kept", a, func(root map[string]any) { at(root, "messages", 1).(map[string]any)["content"] = content(root)[1:] }),
		replay("moved", "thinking-kept", a, func(root map[string]any) { c := content(root); c[0], c[1] = c[1], c[0] }),

		replay("another call", "signature", g, func(root map[string]any) {
			at(part(root, 3), "functionCall", "args").(map[string]any)["path"] = "c.txt"
		}),
		replay("moved", "signature", g, func(root map[string]any) {
			part(root, 2)["thoughtSignature"] = part(root, 3)["thoughtSignature"]
			part(root, 3)["thoughtSignature"] = "skip_thought_signature_validator"
		}),
		replay("another vendor", "signature", g, func(root map[string]any) { part(root, 3)["thoughtSignature"] = foreign.Sign(geminiModel, "part", "") }),
		replay("missing", "signature-missing", g, func(root map[string]any) { delete(part(root, 3), "thoughtSignature") }),

		replay("altered", "reasoning-sealed", r, func(root map[string]any) { item(root, 1)["encrypted_content"] = foreign.Seal("gpt-5.6", "done", "x") }),
		replay("another model", "reasoning-sealed", r, func(root map[string]any) { root["model"] = "gpt-5.5" }),
		replay("of another item", "reasoning-sealed", r, func(root map[string]any) { item(root, 1)["id"] = "rs_7" }),
		replay("missing", "reasoning-missing", r, func(root map[string]any) { without(root, "input", 1) }),
		replay("alone", "reasoning-follow", r, func(root map[string]any) { without(root, "input", 2) }),
	}
}

// Rules of headers and of replayed answers: the last request of each conversation breaks
// its rule, and no other rule stands in for one that is taken out.
func TestStatefulRules(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, b := range breaches() {
		tested[b.wire.Name()+" "+b.rule] = true
		t.Run(b.wire.Name()+" "+b.rule+" "+b.name, func(t *testing.T) {
			t.Parallel()
			model := func() *script { return thinkingTurn(directive(strictwire.Directive{Redacted: "secret"})...) }
			h := strictwire.New(b.wire, model(), nil)
			b.play(t, h)
			assert.Equal(t, b.rule, refused(h))
			lax := strictwire.New(b.wire, model(), &strictwire.Options{Without: b.rule})
			b.play(t, lax)
			assert.NotEqual(t, b.rule, refused(lax), "the rule is taken out")
		})
	}
	for _, w := range allRows() {
		for _, id := range w.stateful {
			assert.True(t, tested[w.wire.Name()+" "+id], "%s: no conversation breaks the rule %s", w.wire.Name(), id)
		}
	}
}

// The content of output_item.added is not the one that goes back.
func TestTheEncryptedContentOfAnItemThatIsNotDone(t *testing.T) {
	t.Parallel()
	h := strictwire.New(strictwire.Responses(), thinkingTurn(), nil)
	body := respondsTurn(t, h)
	_, stream := send(t, h, "/v1/responses", edited(t, body, func(root map[string]any) { root["input"] = root["input"].([]any)[:1] }), nil)
	var added []string
	for event := range strings.SplitSeq(stream, "\n\n") {
		if _, data, ok := strings.Cut(event, "event: response.output_item.added\ndata: "); ok {
			var e struct {
				Item struct {
					Type, ID  string
					Encrypted string `json:"encrypted_content"`
				}
			}
			require.NoError(t, json.Unmarshal([]byte(data), &e))
			if e.Item.Type == "reasoning" {
				added = append(added, e.Item.Encrypted)
			}
		}
	}
	require.Len(t, added, 1)
	send(t, h, "/v1/responses", edited(t, body, func(root map[string]any) { at(root, "input", 1).(map[string]any)["encrypted_content"] = added[0] }), nil)
	assert.Equal(t, "reasoning-sealed", refused(h))
}

// A server with another key takes no signature of this one.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	for _, w := range []strictwire.Wire{strictwire.Messages(), strictwire.Gemini(), strictwire.Responses()} {
		url, body := replayed(t, strictwire.New(w, thinkingTurn(), nil), w)
		other := strictwire.New(w, thinkingTurn(), &strictwire.Options{Key: []byte("another")})
		status, _ := send(t, other, url, body, nil)
		assert.Equal(t, 400, status, w.Name())
		assert.Contains(t, []string{"thinking-signed", "signature", "reasoning-sealed"}, refused(other))
	}
}
