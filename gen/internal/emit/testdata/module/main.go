// The program reads calls from standard input and writes what became of them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"example.com/try/notes"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

var (
	_ hook.Hook = (*notes.Notes)(nil)
	_ hook.Hook = notes.Clock{}
)

func main() {
	in := json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	n := &notes.Notes{}
	for in.More() {
		var call struct{ Tool, Args string }
		if err := in.Decode(&call); err != nil {
			panic(err)
		}
		if err := out.Encode(run(n, call.Tool, call.Args)); err != nil {
			panic(err)
		}
	}
	fmt.Println(toolsOf(n))
}

type answer struct {
	Owned  bool
	Err    string
	Args   string
	Got    string
	Result string
	Fail   message.FailureKind
}

func run(n *notes.Notes, tool, args string) answer {
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tool}, Args: message.JSON(args)})
	inv, ok := n.Dispatch(context.Background(), call)
	if !ok {
		inv, ok = notes.Clock{}.Dispatch(context.Background(), call)
	}
	a := answer{Owned: ok, Args: string(inv.Args())}
	switch {
	case inv.Err() != nil:
		a.Err = inv.Err().Error()
	case ok:
		n.Got = nil
		for range 2 { // a second attempt sees the same arguments
			res := inv.Runner().Run(context.Background(), &hook.Env{Key: "k"})
			a.Result, a.Fail = res.Text(), res.Failure
		}
		if got, ok := n.Got.(notes.AddInput); ok {
			got.At = got.At.In(time.UTC)
			a.Got = fmt.Sprintf("%+v", dump(got))
		}
	}
	return a
}

func dump(in notes.AddInput) string {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func toolsOf(n *notes.Notes) string {
	tools := append(n.Schema(), notes.Clock{}.Schema()...)
	text, err := json.Marshal(tools)
	if err != nil {
		panic(err)
	}
	return string(text)
}
