// Command gemini asks a model of Google.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

func main() {
	o := gemini.FromEnv(os.Getenv) // GEMINI_API_KEY
	o.Model = "gemini-3.8-flash"
	model := gemini.New(o)
	req := message.ModelRequest{Messages: message.MessagesOf(message.UserText("Say hello."))}
	reply, err := provider.Collect(model.Stream(context.Background(), req))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text())
}
