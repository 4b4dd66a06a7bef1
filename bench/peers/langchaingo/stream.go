package langchaingo

import (
	"context"
	"errors"
	"net/http"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/grapnel-go/grapnel/bench/wire"
)

// Reader reads a stream with the client of the wire that OpenAI speaks. It decodes
// on a goroutine of its own and also puts the whole answer together.
type Reader struct{ model *openai.LLM }

// NewReader returns a reader over an HTTP client.
func NewReader(c *http.Client) (*Reader, error) {
	model, err := openai.New(openai.WithBaseURL("http://memory.test/v1"), openai.WithToken("sk-bench"), openai.WithModel("m"), openai.WithHTTPClient(c))
	return &Reader{model}, err
}

var _ wire.Reader = (*Reader)(nil)

// Read implements wire.Reader.
func (r *Reader) Read(ctx context.Context) (heard wire.Heard, err error) {
	answer, err := r.model.GenerateContent(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hello")},
		llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
			if len(chunk) > 0 {
				heard.Add(string(chunk))
			}
			return nil
		}))
	if err != nil {
		return heard, err
	}
	if len(answer.Choices) == 0 {
		return heard, errors.New("langchaingo: an answer without a choice")
	}
	choice := answer.Choices[0]
	in, _ := choice.GenerationInfo["PromptTokens"].(int)
	out, _ := choice.GenerationInfo["CompletionTokens"].(int)
	heard.Finish, heard.Input, heard.Output = choice.StopReason, int64(in), int64(out)
	return heard, nil
}
