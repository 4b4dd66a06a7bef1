package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

// A server on loopback stands for api.anthropic.com; leave BaseURL out to ask that.
func Example() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ok())
	}))
	defer s.Close()
	p := anthropic.New(&anthropic.Options{APIKey: "sk-ant-…no", BaseURL: s.URL})
	fmt.Println(p.Err() != nil) // no key has such a character
	p = anthropic.New(&anthropic.Options{APIKey: "sk-ant-example", BaseURL: s.URL, Model: "claude-opus-5-5"})
	reply, err := provider.Collect(p.Stream(context.Background(), message.ModelRequest{
		System: "Answer in one word.", Messages: message.MessagesOf(message.UserText("Well?")),
	}))
	fmt.Println(reply.Text(), reply.Finish, err)
	// Output:
	// true
	// ok stop <nil>
}
