// Command embedder serves an agent with two subsystems over net/http: the smallest
// useful program of somebody who embeds Grapnel, whose size is measured.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

//go:generate go tool hookgen .

// App is all that the agent has.
//
//hook:composite
type App struct {
	Limit *Limit
	Notes *Notes
}

// Limit allows so many tool calls in one turn.
//
//hook:subsystem
type Limit struct {
	hook.Nop
	calls hook.TurnState[int]
}

var _ hook.BeforeTool = (*Limit)(nil)

// BeforeTool implements hook.BeforeTool.
func (l *Limit) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if l.calls.Update(call.Step().Turn(), func(n int) int { return n + 1 }) > 50 {
		return hook.DenyTool("this turn has called enough tools"), nil
	}
	return hook.ToolDecision{}, nil
}

// Notes keeps notes.
//
//hook:subsystem
type Notes struct {
	hook.Nop
	mu  sync.Mutex
	all []string
}

// Note is what is kept.
type Note struct {
	// Text of the note.
	Text string `json:"text"`
}

// Add keeps a note.
//
//hook:tool name=add_note
func (n *Notes) Add(_ context.Context, in Note) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, in.Text)
	return fmt.Sprintf("there are %d notes", len(n.all)), nil
}

func main() {
	if err := serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	rt := runtime.New(&App{Limit: &Limit{}, Notes: &Notes{}}, openai.New(openai.FromEnv(os.Getenv)), nil)
	if err := rt.Open(ctx); err != nil {
		return err
	}
	defer rt.Close(ctx)
	clerk, err := rt.Register(ctx, hook.AgentConfig{Name: "clerk", Model: message.Model{Name: "some-model"}})
	if err != nil {
		return err
	}
	return http.ListenAndServe("localhost:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		conv, err := clerk.Conversation(r.Context(), r.RemoteAddr)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		out, err := conv.Send(r.Context(), message.TextInput(string(line)), nil)
		if err := cmp.Or(err, out.Err); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, out.Text())
	}))
}
