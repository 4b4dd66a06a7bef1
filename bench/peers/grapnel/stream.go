package grapnel

import (
	"context"
	"net/http"

	"github.com/grapnel-go/grapnel/bench/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// Reader reads a stream with the provider of the wire that OpenAI speaks.
type Reader struct{ model *openai.Provider }

// NewReader returns a reader over an HTTP client.
func NewReader(c *http.Client) *Reader {
	return &Reader{openai.New(&openai.Options{BaseURL: "http://memory.test/v1", APIKey: "sk-bench", Network: provider.Network{Client: c}})}
}

var _ wire.Reader = (*Reader)(nil)

// Read implements wire.Reader.
func (r *Reader) Read(ctx context.Context) (heard wire.Heard, err error) {
	req := message.ModelRequest{Model: message.Model{Name: "m"}, Messages: message.MessagesOf(message.UserText("hello"))}
	for chunk, err := range r.model.Stream(ctx, req) {
		if err != nil {
			return heard, err
		}
		switch chunk.Kind {
		case message.ChunkText:
			heard.Add(chunk.Text)
		case message.ChunkFinish:
			heard.Finish, heard.Input, heard.Output = string(chunk.Finish), chunk.Usage.Input, chunk.Usage.Output
		}
	}
	return heard, nil
}
