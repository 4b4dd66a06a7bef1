// Package openaisdk has OpenAI's own Go SDK read a stream, as its examples do.
//
// It does more than a reader of one kind of stream: it decodes every field of a
// chunk, keeps the text of each field beside its value, and accepts fields that it
// does not know.
package openaisdk

import (
	"context"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/grapnel-go/grapnel/bench/wire"
)

// Reader reads with the SDK.
type Reader struct{ client openai.Client }

// New returns a reader over an HTTP client.
func New(c *http.Client) *Reader {
	return &Reader{openai.NewClient(option.WithBaseURL("http://memory.test/v1/"), option.WithAPIKey("sk-bench"), option.WithHTTPClient(c), option.WithMaxRetries(0))}
}

var _ wire.Reader = (*Reader)(nil)

// Read implements wire.Reader.
func (r *Reader) Read(ctx context.Context) (heard wire.Heard, err error) {
	stream := r.client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	})
	for stream.Next() {
		chunk := stream.Current()
		if len(chunk.Choices) > 0 {
			choice := &chunk.Choices[0]
			if choice.Delta.Content != "" {
				heard.Add(choice.Delta.Content)
			}
			if choice.FinishReason != "" {
				heard.Finish = choice.FinishReason
			}
		}
		if chunk.Usage.TotalTokens > 0 {
			heard.Input, heard.Output = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
		}
	}
	return heard, errors.Join(stream.Err(), stream.Close())
}
