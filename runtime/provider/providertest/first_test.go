package providertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// First asks a server that answers with one JSON object per line.
func First(url string, client *http.Client) provider.Func {
	return func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			body, _ := json.Marshal(map[string]any{"model": req.Model, "system": req.System, "messages": req.Messages})
			post, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
			resp, err := client.Do(post)
			if err != nil {
				yield(message.Chunk{}, err)
				return
			}
			defer resp.Body.Close()
			for lines := json.NewDecoder(resp.Body); ; {
				var line struct{ Text, Finish string }
				err := lines.Decode(&line)
				if err == io.EOF {
					err = provider.ErrNoFinish
				}
				chunk := message.Chunk{Kind: message.ChunkText, Text: line.Text}
				if line.Finish != "" {
					chunk = message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishReason(line.Finish)}
				}
				if !yield(chunk, err) || err != nil || line.Finish != "" {
					return
				}
			}
		}
	}
}

func ExampleRun_first() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"text":"Good "}`)
		fmt.Fprintln(w, `{"text":"morning."}`)
		fmt.Fprintln(w, `{"finish":"stop"}`)
	}))
	defer server.Close()
	reply, err := provider.Collect(First(server.URL, server.Client()).Stream(context.Background(), message.ModelRequest{
		Model: message.Model{Name: "small"}, Messages: message.MessagesOf(message.UserText("Hello.")),
	}))
	fmt.Println(reply.Text(), err)
	// Output: Good morning. <nil>
}
