// Command openrouter asks a model through OpenRouter.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

func main() {
	vendor, _ := openai.PresetOf("openrouter")
	o := vendor.FromEnv(os.Getenv) // OPENROUTER_API_KEY
	o.Model = "google/gemini-4-carbon"
	model := openai.New(o)
	req := message.ModelRequest{Messages: message.MessagesOf(message.UserText("Say hello."))}
	reply, err := provider.Collect(model.Stream(context.Background(), req))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text())
}
