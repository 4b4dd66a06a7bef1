// Command azure asks a model that is deployed on Azure.
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
	vendor, _ := openai.PresetOf("azure")
	o := vendor.FromEnv(os.Getenv) // AZURE_OPENAI_API_KEY, AZURE_OPENAI_BASE_URL
	o.Model = "gpt-5.4"
	model := openai.New(o)
	req := message.ModelRequest{Messages: message.MessagesOf(message.UserText("Say hello."))}
	reply, err := provider.Collect(model.Stream(context.Background(), req))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text())
}
