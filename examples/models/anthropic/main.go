// Command anthropic asks a model of Anthropic.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

func main() {
	o := anthropic.FromEnv(os.Getenv) // ANTHROPIC_API_KEY
	o.Model = "claude-sonnet-5-5"
	model := anthropic.New(o)
	req := message.ModelRequest{Messages: message.MessagesOf(message.UserText("Say hello."))}
	reply, err := provider.Collect(model.Stream(context.Background(), req))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text())
}
