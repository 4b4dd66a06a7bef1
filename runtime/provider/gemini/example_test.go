package gemini_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, parts(`{"text":"Hello, "}`), parts(`{"text":"Ada."}`), finished("STOP"))
	}))
	defer server.Close()
	p := gemini.New(&gemini.Options{BaseURL: server.URL, APIKey: "secret", Model: "gemini-3.8-flash"})
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
			fmt.Println(chunk.Finish, chunk.Usage.Total(), "tokens")
		}
	}
	// Output:
	// "Hello, "
	// "Ada."
	// stop 38 tokens
}
