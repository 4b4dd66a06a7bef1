package strictwire_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// google is the vendor's SDK as a client.
func google(t *testing.T, baseURL string, hc *http.Client) *genai.Client {
	t.Helper()
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: hc,
		HTTPOptions: genai.HTTPOptions{BaseURL: baseURL}})
	require.NoError(t, err)
	return c
}

func googleConfig() *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser),
		ThinkingConfig:    &genai.ThinkingConfig{IncludeThoughts: true},
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read", Description: "reads a file",
			ParametersJsonSchema: map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}, "additionalProperties": false}}}}},
	}
}

// googleAsks streams an answer. It returns the parts that say something, in one content, and
// the last response.
func googleAsks(t *testing.T, c *genai.Client, model string, contents []*genai.Content) (*genai.Content, *genai.GenerateContentResponse, error) {
	t.Helper()
	all := &genai.Content{Role: genai.RoleModel}
	var last *genai.GenerateContentResponse
	for r, err := range c.Models.GenerateContentStream(t.Context(), model, contents, googleConfig()) {
		if err != nil {
			return all, last, err
		}
		last = r
		for _, candidate := range r.Candidates {
			if candidate.Content == nil {
				continue
			}
			for _, p := range candidate.Content.Parts {
				if p.Text != "" || p.FunctionCall != nil || p.ThoughtSignature != nil {
					all.Parts = append(all.Parts, p)
				}
			}
		}
	}
	return all, last, nil
}

// googleTurn plays thinkingTurn: the second request replays the signed call and has both
// results in one content.
func googleTurn(t *testing.T, c *genai.Client, model string) (first, second *genai.Content, last *genai.GenerateContentResponse) {
	t.Helper()
	contents := []*genai.Content{genai.NewContentFromText("Read both.", genai.RoleUser)}
	first, last, err := googleAsks(t, c, model, contents)
	require.NoError(t, err)
	results := &genai.Content{Role: genai.RoleUser}
	for _, p := range first.Parts {
		if f := p.FunctionCall; f != nil {
			response := map[string]any{"output": "text of it"}
			if len(results.Parts) == 1 {
				response = map[string]any{"error": "no such file"}
			}
			results.Parts = append(results.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: f.ID, Name: f.Name, Response: response}})
		}
	}
	second, _, err = googleAsks(t, c, model, append(contents, first, results))
	require.NoError(t, err)
	return first, second, last
}

func TestTheVendorsSDKTalksToGemini(t *testing.T) {
	t.Parallel()
	model := thinkingTurn()
	h := strictwire.New(strictwire.Gemini(), model, nil)
	srv := serve(t, h)
	first, second, last := googleTurn(t, google(t, srv.URL, srv.Client()), "gemini-3-pro-preview")

	require.Len(t, first.Parts, 5)
	assert.True(t, first.Parts[0].Thought)
	assert.Equal(t, "The user wants two files.", first.Parts[0].Text+first.Parts[1].Text)
	assert.Equal(t, "I look.", first.Parts[2].Text)
	assert.Equal(t, map[string]any{"path": "a.txt"}, first.Parts[3].FunctionCall.Args, "a call comes whole, although the model streams two at once")
	assert.Equal(t, map[string]any{"path": "b.txt"}, first.Parts[4].FunctionCall.Args)
	assert.NotEmpty(t, first.Parts[3].ThoughtSignature)
	assert.Empty(t, first.Parts[4].ThoughtSignature, "only the first of several calls is signed")
	assert.Equal(t, genai.FinishReasonStop, last.Candidates[0].FinishReason, "also with calls")
	u := last.UsageMetadata
	assert.Equal(t, []int32{100, 32, 8, 60, 140}, []int32{u.PromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.CachedContentTokenCount, u.TotalTokenCount})
	assert.Equal(t, "Done.", second.Parts[len(second.Parts)-2].Text+second.Parts[len(second.Parts)-1].Text)

	assert.Empty(t, h.Rejections())
	got := model.last()
	assert.Equal(t, []any{"gemini-3-pro-preview", "Be brief."}, []any{got.Model.Name, got.System})
	require.Equal(t, 4, got.Messages.Len())
	assert.Equal(t, []any{"text of it", false}, []any{got.Messages.At(2).Result.Text(), got.Messages.At(2).Result.IsError()})
	assert.Equal(t, []any{"no such file", true, "read"}, []any{got.Messages.At(3).Result.Text(), got.Messages.At(3).Result.IsError(), got.Messages.At(3).Tool})
	assert.True(t, h.Requests()[1].Prefix.Stable())
}

func TestTheEndingsOfGemini(t *testing.T) {
	t.Parallel()
	asks := func(chunks ...[]message.Chunk) (*genai.Content, *genai.GenerateContentResponse, *genai.Client) {
		c := google(t, "http://strict.test", strictwire.New(strictwire.Gemini(), scripted(joined(chunks...)), nil).Client())
		got, last, err := googleAsks(t, c, "gemini-3-pro-preview", []*genai.Content{genai.NewContentFromText("x", genai.RoleUser)})
		require.NoError(t, err)
		return got, last, c
	}
	_, last, _ := asks(texts("a"), finish(message.FinishLength, message.Usage{}))
	assert.Equal(t, genai.FinishReasonMaxTokens, last.Candidates[0].FinishReason)
	_, last, _ = asks(texts("a"), finish(message.FinishFilter, message.Usage{}))
	assert.Equal(t, genai.FinishReasonSafety, last.Candidates[0].FinishReason)
	_, last, _ = asks(directive(strictwire.Directive{Stop: "MALFORMED_FUNCTION_CALL"}), finish(message.FinishOther, message.Usage{}))
	assert.Equal(t, genai.FinishReasonMalformedFunctionCall, last.Candidates[0].FinishReason)
	_, last, _ = asks(directive(strictwire.Directive{Blocked: "PROHIBITED_CONTENT"}), finish(message.FinishFilter, message.Usage{}))
	assert.Empty(t, last.Candidates)
	assert.Equal(t, genai.BlockedReasonProhibitedContent, last.PromptFeedback.BlockReason)

	// A text may end with a signature on a part without text, which goes back as it is.
	got, _, c := asks(texts("a"), directive(strictwire.Directive{Signed: true}), finish(message.FinishStop, message.Usage{}))
	require.Len(t, got.Parts, 2)
	assert.Empty(t, got.Parts[1].Text)
	history := []*genai.Content{genai.NewContentFromText("x", genai.RoleUser), got, genai.NewContentFromText("y", genai.RoleUser)}
	_, _, err := googleAsks(t, c, "gemini-3-pro-preview", history)
	require.NoError(t, err)
	got.Parts = []*genai.Part{{Text: "a", ThoughtSignature: got.Parts[1].ThoughtSignature}} // two parts made one
	_, _, err = googleAsks(t, c, "gemini-3-pro-preview", history)
	require.ErrorContains(t, err, "Corrupted thought signature.")
}

func TestTheVendorsSDKReadsTheErrorsOfGemini(t *testing.T) {
	t.Parallel()
	asks := func(s *script, contents ...*genai.Content) (*genai.Content, genai.APIError) {
		h := strictwire.New(strictwire.Gemini(), s, nil)
		got, _, err := googleAsks(t, google(t, "http://strict.test", h.Client()), "gemini-2.5-flash", contents)
		var e genai.APIError
		require.ErrorAs(t, err, &e)
		return got, e
	}
	hi := genai.NewContentFromText("hi", genai.RoleUser)
	_, e := asks(scripted(nil), hi, genai.NewContentFromText("x", "assistant"))
	assert.Equal(t, genai.APIError{Code: 400, Message: "Please use a valid role: user, model.", Status: "INVALID_ARGUMENT"}, e)

	slow := &script{answers: [][]message.Chunk{nil}, err: &provider.Error{Class: message.FailureRateLimit, RetryAfter: 7 * time.Second, Err: errors.New("quota")}}
	_, e = asks(slow, hi)
	assert.Equal(t, []any{429, "RESOURCE_EXHAUSTED", "7s"}, []any{e.Code, e.Status, e.Details[0]["retryDelay"]})

	late := &script{answers: [][]message.Chunk{texts("half")}, err: &provider.Error{Class: message.FailureOverloaded, Err: errors.New("The model is overloaded.")}}
	got, e := asks(late, hi)
	assert.Equal(t, []any{503, "UNAVAILABLE", "The model is overloaded."}, []any{e.Code, e.Status, e.Message}, "bare JSON in a stream that has begun with 200")
	assert.Equal(t, "half", got.Parts[0].Text)
}
