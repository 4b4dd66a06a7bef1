package counterpart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/internal/test/wires"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

const (
	key   = "sk-ant-counterpart"
	base  = "http://model.test"
	model = "claude-opus-4-8"
)

// server answers every request with the same bytes, without a network, and keeps the requests.
type server struct {
	status int
	answer string
	bodies []string
	sent   []*http.Request
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies, s.sent = append(s.bodies, string(body)), append(s.sent, r)
	kind := map[bool]string{true: "text/event-stream", false: "application/json"}[s.status == http.StatusOK]
	return &http.Response{StatusCode: s.status, Request: r, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(s.answer))}, nil
}

func (s *server) client() *http.Client { return &http.Client{Transport: s} }

func streams(answer string) *server { return &server{status: http.StatusOK, answer: answer} }

// theirs is the SDK's client of a server, ours the provider.
func theirs(url string, hc *http.Client) sdk.Client {
	return sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithAPIKey(key), option.WithBaseURL(url), option.WithHTTPClient(hc))
}

func ours(hc *http.Client) *anthropic.Provider {
	return anthropic.New(&anthropic.Options{BaseURL: base, APIKey: key, Model: model, Network: provider.Network{Client: hc}})
}

func hello() message.ModelRequest {
	return message.ModelRequest{Messages: message.MessagesOf(message.UserText("hello"))}
}

func params() sdk.MessageNewParams {
	text := sdk.ContentBlockParamUnion{OfText: &sdk.TextBlockParam{Text: "hello", CacheControl: sdk.NewCacheControlEphemeralParam()}}
	return sdk.MessageNewParams{Model: model, MaxTokens: 32000, Messages: []sdk.MessageParam{sdk.NewUserMessage(text)}}
}

// stream asks with the SDK and puts the events together with its accumulator.
func stream(ctx context.Context, c sdk.Client, p sdk.MessageNewParams) (all sdk.Message, err error) {
	s := c.Messages.NewStreaming(ctx, p)
	for s.Next() {
		if err := all.Accumulate(s.Current()); err != nil {
			return all, err
		}
	}
	return all, errors.Join(s.Err(), s.Close())
}

// read is what a reader finds in a stream.
type read struct {
	text, thoughts string
	calls          []string
	signed         []string
	usage          message.Usage
}

func (r *read) call(t *testing.T, id, tool string, args []byte) {
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, args))
	r.calls = append(r.calls, id+" "+tool+compact.String())
}

func readTheirs(t *testing.T, m sdk.Message) (out read) {
	for _, b := range m.Content {
		out.text, out.thoughts = out.text+b.Text, out.thoughts+b.Thinking
		if signed := b.Signature + b.Data; signed != "" {
			out.signed = append(out.signed, signed)
		}
		if b.Type == "tool_use" {
			out.call(t, b.ID, b.Name, b.Input)
		}
	}
	u := m.Usage
	out.usage = message.Usage{Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Output: u.OutputTokens,
		CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens, Reasoning: u.OutputTokensDetails.ThinkingTokens}
	return out
}

func readOurs(t *testing.T, reply message.ModelReply) (out read) {
	out = read{text: reply.Text(), thoughts: reply.Reasoning(), usage: reply.Usage}
	for _, b := range reply.Content.All() {
		var meta struct {
			Signature string
			Block     struct{ Data string }
		}
		if provider.MetaFor("anthropic", b.Meta, &meta) && meta.Signature+meta.Block.Data != "" {
			out.signed = append(out.signed, meta.Signature+meta.Block.Data)
		}
		if b.Kind == message.BlockToolCall {
			out.call(t, b.CallID, b.Tool, []byte(b.JSON))
		}
	}
	return out
}

// The SDK reads the same in every recorded stream as the provider.
func TestBothReadTheSame(t *testing.T) {
	t.Parallel()
	n := 0
	for _, r := range recordings.All(t, recordings.Anthropic) {
		if r.Refused() {
			continue
		}
		n++
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s := streams(string(r.Response(t)))
			want, err := stream(t.Context(), theirs(base, s.client()), params())
			require.NoError(t, err)
			reply, err := provider.Collect(ours(s.client()).Stream(t.Context(), hello()))
			require.NoError(t, err)
			assert.Equal(t, readTheirs(t, want), readOurs(t, reply))
		})
	}
	assert.Greater(t, n, 10)
}

// The SDK reads the kit's description of the wire as the provider does, and every failure of it.
func TestTheSDKReadsTheKit(t *testing.T) {
	t.Parallel()
	piece := func(kind providertest.PieceKind, call int, text string) providertest.Piece {
		return providertest.Piece{Kind: kind, Call: call, Text: text}
	}
	pieces := []providertest.Piece{
		piece(providertest.PieceReasoning, 0, "Both <are> needed."), piece(providertest.PieceSignature, 0, "c2lnbmVk"), piece(providertest.PieceText, 0, "I look — 😀"),
		{Kind: providertest.PieceCall, Call: 0, ID: "call_a", Tool: "look"}, piece(providertest.PieceArguments, 0, `{"at":`),
		{Kind: providertest.PieceCall, Call: 1, ID: "call_b", Tool: "read"}, piece(providertest.PieceArguments, 0, `"x"}`), piece(providertest.PieceArguments, 1, `{"path":"y"}`),
	}
	for from := range 2 { // a signature without thinking is redacted thinking
		says := providertest.Answer{Pieces: pieces[from:], Finish: message.FinishTools, Usage: message.Usage{Input: 120, Output: 48, CacheRead: 64, CacheWrite: 32}}
		s := streams(strings.Join(wires.Messages(nil).Answer(says).Events, ""))
		got, err := stream(t.Context(), theirs(base, s.client()), params())
		require.NoError(t, err)
		thoughts := map[int]string{0: "Both <are> needed."}[from]
		assert.Equal(t, read{text: "I look — 😀", thoughts: thoughts, calls: []string{`call_a look{"at":"x"}`, `call_b read{"path":"y"}`}, signed: []string{"c2lnbmVk"}, usage: says.Usage}, readTheirs(t, got))
		assert.Equal(t, sdk.StopReasonToolUse, got.StopReason)
	}
	for _, f := range wires.Messages(nil).Failures("why") {
		s := &server{status: f.Status, answer: f.Body}
		theirErr := s.error(t)
		require.ErrorContains(t, theirErr, "why")
		_, err := provider.Collect(ours(s.client()).Stream(t.Context(), hello()))
		var got *provider.ServerError
		require.ErrorAs(t, err, &got)
		if want := (*sdk.Error)(nil); f.Status != http.StatusOK {
			require.ErrorAs(t, theirErr, &want)
			assert.Equal(t, []any{want.StatusCode, string(want.Type()), want.Message}, []any{got.Status, got.Type, got.Message})
		}
	}
}

// error asks with the SDK and returns its error.
func (s *server) error(t *testing.T) error {
	_, err := stream(t.Context(), theirs(base, s.client()), params())
	return err
}

// events returns a stream; the name of an event is its type, which comes first.
func events(all ...string) string {
	var b strings.Builder
	for _, data := range all {
		kind, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, data)
	}
	return b.String()
}

// answer returns the stream of an answer of these texts; without its end it is cut.
func answer(whole bool, texts ...string) string {
	all := []string{`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":2,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}
	for _, text := range texts {
		all = append(all, fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, text))
	}
	if whole {
		all = append(all, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`)
	}
	return events(all...)
}

// The SDK sends the same body to the same address, with the same version of the API and the
// key in the same header. Its other headers describe the SDK and its computer.
func TestBothSendTheSame(t *testing.T) {
	t.Parallel()
	s := streams(answer(true))
	require.NoError(t, s.error(t))
	_, err := provider.Collect(ours(s.client()).Stream(t.Context(), hello()))
	require.NoError(t, err)
	assert.JSONEq(t, s.bodies[0], s.bodies[1])
	assert.Equal(t, s.sent[0].URL, s.sent[1].URL)
	want, got := s.sent[0].Header.Clone(), s.sent[1].Header
	for name := range want {
		if strings.HasPrefix(name, "X-Stainless-") {
			want.Del(name)
		}
	}
	want.Set("User-Agent", "grapnel")
	want.Set("Accept", "text/event-stream")
	assert.Equal(t, want, got)
}

// The SDK's types know every member that the provider sends: a request loses nothing on the
// way through them.
func TestTheSDKKnowsEveryMember(t *testing.T) {
	t.Parallel()
	image := message.Block{Kind: message.BlockImage, MIME: "image/gif", Data: "R0lG"}
	call := func(id, args string) message.Block {
		return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: "read", JSON: message.JSON(args)}
	}
	meta := func(members string) message.JSON {
		return message.JSON(`{"anthropic":{"model":"` + model + `",` + members + `}}`)
	}
	s := streams(answer(true))
	_, err := provider.Collect(ours(s.client()).Stream(t.Context(), message.ModelRequest{
		Model: message.Model{Name: model, MaxTokens: 100, Stop: message.ListOf("END"), Tier: "standard_only", Extra: `{"metadata":{"user_id":"u"}}`,
			Reasoning: message.Reasoning{Effort: message.EffortHigh}, Choice: message.ToolChoice{Mode: message.ToolChoiceNone},
			Format: message.ResponseFormat{Schema: `{"type":"object","properties":{"a":{"type":"integer"}}}`}},
		System: "Be brief.", Tools: message.NewToolSet([]message.Tool{{Name: "read", Description: "Reads a <file>.", Input: `{"type":"object","properties":{"path":{"type":"string"}}}`}}),
		Messages: message.MessagesOf(message.Message{Role: message.RoleUser, Content: message.ListOf(message.TextBlock("Read"), image,
			message.Block{Kind: message.BlockDocument, MIME: "application/pdf", Data: "JVBE", Name: "a.pdf"}, message.Block{Kind: message.BlockImage, URI: "https://a.test/b.png"})},
			message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: meta(`"signature":"c2ln"`)},
				message.Block{Kind: message.BlockReasoning, Meta: meta(`"block":{"type":"redacted_thinking","data":"ZW5j"}`)}, call("1", `{"path":"a"}`), call("2", `[`))},
			message.Message{Role: message.RoleTool, CallID: "1", Tool: "read", Result: message.ToolResult{Content: message.ListOf(message.TextBlock("a"), image)}},
			message.Message{Role: message.RoleTool, CallID: "2", Tool: "read", Result: message.FailedResult(message.FailNotFound, "no")}),
	}))
	require.NoError(t, err)
	var through sdk.MessageNewParams
	require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &through))
	back, err := json.Marshal(through)
	require.NoError(t, err)
	var want, got map[string]any
	require.NoError(t, json.Unmarshal(back, &got))
	require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &want))
	got["stream"] = true // is no member of the SDK's parameters
	assert.Equal(t, want, got)
}

// The SDK takes a stream without its last event for a whole answer; the provider does not.
func TestWhereTheProviderIsStricter(t *testing.T) {
	t.Parallel()
	s := streams(answer(false, "half an ans"))
	got, err := stream(t.Context(), theirs(base, s.client()), params())
	require.NoError(t, err)
	assert.Equal(t, "half an ans", got.Content[0].Text)
	_, err = provider.Collect(ours(s.client()).Stream(t.Context(), hello()))
	require.ErrorIs(t, err, provider.ErrNoFinish)
}

// BenchmarkDecode compares the cost of a chunk.
func BenchmarkDecode(b *testing.B) {
	const chunks = 1000
	hc := streams(answer(true, slices.Repeat([]string{" word"}, chunks)...)).client()
	p, c := ours(hc), theirs(base, hc)
	run := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, read())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
		})
	}
	run("grapnel", func() error { _, err := provider.Collect(p.Stream(b.Context(), hello())); return err })
	run("sdk", func() error {
		s := c.Messages.NewStreaming(b.Context(), params())
		for s.Next() {
		}
		return s.Err()
	})
}
