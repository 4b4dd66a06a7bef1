// Command ollama asks a model of Ollama on this machine.
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
	vendor, _ := openai.PresetOf("ollama")
	o := vendor.FromEnv(os.Getenv) // OLLAMA_BASE_URL, if it is elsewhere
	o.Model = "qwen3:8b"
	model := openai.New(o)
	req := message.ModelRequest{Messages: message.MessagesOf(message.UserText("Say hello."))}
	reply, err := provider.Collect(model.Stream(context.Background(), req))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text())
}
