package runtime_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
)

// talk returns a conversation with the agent "helper", whose model is the function.
func talk(model provider.Func) (*runtime.Runtime, *runtime.Conversation) {
	ctx := context.Background()
	rt := runtime.New(hook.Nop{}, model, nil)
	if err := rt.Open(ctx); err != nil {
		log.Fatal(err)
	}
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"})
	if err != nil {
		log.Fatal(err)
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	return rt, conv
}

// librarian counts what it is shown, and writes short summaries.
func librarian(_ context.Context, req message.ModelRequest) message.ModelStream {
	text := fmt.Sprintf("I see %d messages.", req.Messages.Len())
	if req.Messages.At(0).Label == message.LabelCompaction {
		text = "Ann counts messages."
	}
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
	}
}

// say runs a turn and prints the answer.
func say(conv *runtime.Conversation, line string) {
	out, err := conv.Send(context.Background(), message.TextInput(line), nil)
	if err := cmp.Or(err, out.Err); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text())
}

// The older turns of a conversation become a summary; they stay in the archive.
func ExampleConversation_Compact() {
	ctx := context.Background()
	rt, conv := talk(librarian)
	say(conv, "one")
	say(conv, "two")
	say(conv, "three")
	made, err := conv.Compact(ctx, &runtime.CompactOptions{Keep: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q stands for %d messages\n", made.Summary, made.Archived)
	say(conv, "four")
	archive, err := conv.Archive(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(archive[0].Text())
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// I see 1 messages.
	// I see 3 messages.
	// I see 5 messages.
	// "Ann counts messages." stands for 4 messages
	// I see 4 messages.
	// one
}

// A conversation goes two ways, and one of them goes back.
func ExampleConversation_Fork() {
	ctx := context.Background()
	rt, conv := talk(librarian)
	say(conv, "one")
	say(conv, "two")
	other, err := conv.Fork(ctx, 1, "ann/other way")
	if err != nil {
		log.Fatal(err)
	}
	say(other, "two, otherwise")
	if err := conv.Rewind(ctx, 0); err != nil {
		log.Fatal(err)
	}
	say(conv, "from the beginning")
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// I see 1 messages.
	// I see 3 messages.
	// I see 3 messages.
	// I see 1 messages.
}

// What is said while a turn runs is read before its next step.
func ExampleTurn_Steer() {
	ctx := context.Background()
	var conv *runtime.Conversation
	steered := false
	rt, got := talk(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		if !steered { // somebody says something while the model thinks
			steered = true
			if err := conv.Running().Steer(ctx, message.TextInput("and shortly")); err != nil {
				log.Fatal(err)
			}
		}
		return parrot(ctx, req)
	})
	conv = got
	say(conv, "explain it")
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// You said: and shortly
}

// Words of people and models are found; what tools were called with is not.
func ExampleRuntime_Search() {
	ctx := context.Background()
	rt, conv := talk(parrot)
	say(conv, "the boat is in the harbour")
	found, err := rt.Search(ctx, store.Query{Text: "boat*", Agent: "helper", Sender: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found {
		fmt.Printf("%d %s: %s\n", m.Message, m.Role, strings.TrimSpace(m.Snippet))
	}
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// You said: the boat is in the harbour
	// 0 user: the boat is in the harbour
	// 1 assistant: You said: the boat is in the harbour
}

// A tool asks the people of the conversation; whoever answers first is heard.
func ExampleRuntime_Answer() {
	ctx := context.Background()
	rt := runtime.New(askuser.New(nil), provider.Func(asks), nil)
	if err := rt.Open(ctx); err != nil {
		log.Fatal(err)
	}
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"})
	if err != nil {
		log.Fatal(err)
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	out, err := conv.Send(ctx, message.TextInput("paint it"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind != event.QuestionAsked {
			return
		}
		inquiry := rt.Pending()[0]
		fmt.Println(inquiry.Questions.At(0).Text)
		answer := hook.Response{Given: message.ListOf(hook.Given{Chosen: message.ListOf("blue")})}
		if err := rt.Answer(inquiry.Conversation, inquiry.ID, "ann", answer); err != nil {
			log.Fatal(err)
		}
	}})
	if err := cmp.Or(err, out.Err); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text())
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Which colour?
	// Noted: Which colour? → blue
}

// asks is a model that asks one question and notes the answer.
func asks(_ context.Context, req message.ModelRequest) message.ModelStream {
	last := req.Messages.At(req.Messages.Len() - 1)
	return func(yield func(message.Chunk, error) bool) {
		if last.Role == message.RoleTool {
			_ = yield(message.Chunk{Kind: message.ChunkText, Text: "Noted: " + last.Result.Text()}, nil) &&
				yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
			return
		}
		_ = yield(message.Chunk{Kind: message.ChunkCallStart, CallID: "c1", Tool: "ask_user"}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallArgs, Text: `{"questions":[{"question":"Which colour?","header":"colour",` +
				`"options":[{"label":"red"},{"label":"blue"}]}]}`}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallEnd}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools}, nil)
	}
}
