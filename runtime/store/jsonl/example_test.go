package jsonl_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/jsonl"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A conversation is put into another store, under another sender.
func Example() {
	ctx, from, to := context.Background(), mem.New(nil), mem.New(nil)
	rec, _ := from.Conversation(ctx, store.Key{Agent: "coder", Sender: "me"})
	_, err := from.Append(ctx, rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("hi")), TurnEnds: true})
	if err != nil {
		fmt.Println(err)
	}
	var file bytes.Buffer
	if err := jsonl.Export(ctx, from, rec.ID, &file); err != nil {
		fmt.Println(err)
	}
	_, line, _ := bytes.Cut(file.Bytes(), []byte("\n"))
	fmt.Printf("%s", line)

	moved, err := jsonl.Import(ctx, to, &file, &store.Key{Agent: "coder", Sender: "you"})
	fmt.Println(moved.Key.Sender, moved.Turns, err)
	// Output:
	// {"turn":1,"message":{"role":"user","content":[{"kind":"text","text":"hi"}]}}
	// you 1 <nil>
}
