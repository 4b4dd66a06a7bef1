package wires_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/wires"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // of the libraries of genai
}

const signature = "c2lnbmVk"

// answer has everything that the wires have.
func answer() providertest.Answer {
	piece := func(kind providertest.PieceKind, call int, text string) providertest.Piece {
		return providertest.Piece{Kind: kind, Call: call, Text: text}
	}
	return providertest.Answer{
		Pieces: []providertest.Piece{
			piece(providertest.PieceReasoning, 0, "Both "), piece(providertest.PieceReasoning, 0, "<are> needed."),
			piece(providertest.PieceSignature, 0, signature), piece(providertest.PieceText, 0, "I look — 😀"),
			{Kind: providertest.PieceCall, Call: 0, ID: "call_a", Tool: "look"}, piece(providertest.PieceArguments, 0, `{"at":`),
			{Kind: providertest.PieceCall, Call: 1, ID: "call_b", Tool: "read"}, piece(providertest.PieceArguments, 0, `"x"}`),
			piece(providertest.PieceArguments, 1, `{"path":"y"}`),
		},
		Finish: message.FinishTools, Usage: message.Usage{Input: 120, Output: 48, CacheRead: 64, CacheWrite: 32, Reasoning: 12},
	}
}

// serves is a transport that answers with a body.
type serves struct {
	status int
	kind   string
	body   string
}

func (s serves) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {s.kind}}, Body: io.NopCloser(strings.NewReader(s.body)), Request: r,
	}, nil
}

func streamed(s providertest.Stream) *http.Client {
	return &http.Client{Transport: serves{http.StatusOK, "text/event-stream", strings.Join(s.Events, "")}}
}

func geminiReads(t *testing.T, hc *http.Client) (parts []*genai.Part, last *genai.GenerateContentResponse, err error) {
	t.Helper()
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: hc, HTTPOptions: genai.HTTPOptions{BaseURL: "http://model.test"}})
	require.NoError(t, err)
	for r, err := range c.Models.GenerateContentStream(t.Context(), "gemini-3-pro", []*genai.Content{genai.NewContentFromText("hi", genai.RoleUser)}, nil) {
		if err != nil {
			return parts, last, err
		}
		last = r
		for _, candidate := range r.Candidates {
			if candidate.Content != nil {
				parts = append(parts, candidate.Content.Parts...)
			}
		}
	}
	return parts, last, nil
}

func TestGooglesSDKReadsGemini(t *testing.T) {
	t.Parallel()
	parts, last, err := geminiReads(t, streamed(wires.Gemini(nil).Answer(answer())))
	require.NoError(t, err)
	require.Len(t, parts, 6)
	assert.Equal(t, "Both <are> needed.", parts[0].Text+parts[1].Text)
	assert.True(t, parts[0].Thought && parts[1].Thought && !parts[2].Thought)
	assert.Equal(t, "I look — 😀", parts[2].Text)
	assert.Equal(t, &genai.FunctionCall{ID: "call_a", Name: "look", Args: map[string]any{"at": "x"}}, parts[3].FunctionCall)
	assert.Equal(t, []byte("signed"), parts[3].ThoughtSignature)
	assert.Equal(t, &genai.FunctionCall{ID: "call_b", Name: "read", Args: map[string]any{"path": "y"}}, parts[4].FunctionCall)
	assert.Empty(t, parts[4].ThoughtSignature)
	assert.Equal(t, genai.FinishReasonStop, last.Candidates[0].FinishReason)
	u := last.UsageMetadata
	assert.Equal(t, []int32{120, 36, 12, 64, 168}, []int32{u.PromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.CachedContentTokenCount, u.TotalTokenCount})

	_, last, err = geminiReads(t, streamed(wires.Gemini(nil).Answer(providertest.Answer{Finish: message.FinishFilter})))
	require.NoError(t, err)
	assert.Equal(t, genai.BlockedReasonProhibitedContent, last.PromptFeedback.BlockReason)
}

func TestGooglesSDKReadsTheFailuresOfGemini(t *testing.T) {
	t.Parallel()
	for _, f := range wires.Gemini(nil).Failures("why") {
		if f.Status == http.StatusOK {
			continue // bare JSON, of which the SDK makes nothing
		}
		_, _, err := geminiReads(t, &http.Client{Transport: serves{f.Status, "application/json", f.Body}})
		var e genai.APIError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, []any{f.Status, "why"}, []any{e.Code, e.Message})
	}
}

// Whatever the wire, the data of each event is JSON, and the finish is one of the events.
func TestEventsAreJSON(t *testing.T) {
	t.Parallel()
	for _, w := range []providertest.Wire{wires.Chat(nil), wires.Responses(nil), wires.Messages(nil), wires.Gemini(nil)} {
		s := w.Answer(answer())
		require.Less(t, s.Finish, len(s.Events))
		for _, event := range s.Events {
			require.True(t, strings.HasSuffix(event, "\n\n"), event)
			_, data, ok := strings.Cut(event, "data: ")
			require.True(t, ok, event)
			if data = strings.TrimSpace(data); data != "[DONE]" {
				assert.True(t, json.Valid(bytes.TrimSpace([]byte(data))), data)
			}
		}
	}
}
