// Remote sends a message to an agent of a daemon that runs elsewhere, and prints what happens until the answer is there:
//
//	grapnel serve --listen 127.0.0.1:7777
//	GRAPNEL_TOKEN=$(grapnel token create remote) go run ./examples/remote http://127.0.0.1:7777 "What is in this directory?"
//
// It links the client and no runtime. A connection that breaks is made again, and goes on behind the last event.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook/event"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: remote URL PROMPT")
	}
	ctx := context.Background()
	c := client.New(os.Args[1], &client.Options{Token: os.Getenv("GRAPNEL_TOKEN")})
	conv, err := c.Conversation(ctx, "", "remote") // the daemon's default agent
	if err != nil {
		log.Fatal(err)
	}
	turn, err := c.Send(ctx, conv.ID, os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for item, err := range c.Follow(ctx, turn) {
		switch {
		case err != nil:
			log.Fatal(err)
		case item.Missed > 0 || item.Restarted:
			fmt.Println("some events are gone; the messages have what was said")
		case item.Event.Kind == event.TurnEnd:
			fmt.Printf("%s %s: %s\n", item.ID, item.Event.Kind, item.Event.Text)
		default:
			fmt.Println(item.ID, item.Event.Kind)
		}
	}
}
