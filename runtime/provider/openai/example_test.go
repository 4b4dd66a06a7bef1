package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// compatible is a server as many run one: it speaks the wire of OpenAI.
func compatible() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"who are you?","code":"no_key"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, says("Hello, "), says("Ada."), whole)
	}))
}

func Example() {
	server := compatible()
	defer server.Close()
	p := openai.New(&openai.Options{BaseURL: server.URL + "/v1", APIKey: "secret", Model: "local"})
	req := message.ModelRequest{System: "Be kind.", Messages: message.MessagesOf(message.UserText("I am Ada."))}
	for chunk, err := range p.Stream(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch chunk.Kind {
		case message.ChunkText:
			fmt.Printf("%q\n", chunk.Text)
		case message.ChunkFinish:
			fmt.Println(chunk.Finish)
		}
	}
	// Output:
	// "Hello, "
	// "Ada."
	// stop
}

func ExampleError() {
	server := compatible()
	defer server.Close()
	p := openai.New(&openai.Options{BaseURL: server.URL + "/v1"})
	_, err := provider.Collect(p.Stream(context.Background(), message.ModelRequest{}))
	var refused *provider.ServerError
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code)
	}
	fmt.Println(err)
	// Output:
	// 401 no_key
	// openai: 401 Unauthorized: no_key: who are you?
}

func ExampleFromEnv() {
	o := openai.FromEnv(os.Getenv)
	o.Model = "gpt-5"
	o.Extra = `{"reasoning_effort":"low"}`
	if err := openai.New(o).Err(); err != nil {
		fmt.Println(err) // no key, or an address that is none
	}
}
