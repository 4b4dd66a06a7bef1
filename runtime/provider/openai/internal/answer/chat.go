package answer

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// chat is the stream of one answer on the chat wire.
type chat struct {
	*Reader
	// json reads the chunk from data.
	json  jsontext.Decoder
	data  bytes.Buffer
	chunk chunk
	calls calls
	// textHalf and reasoningHalf are halves of characters that wait for the other half.
	textHalf, reasoningHalf rune
	finish                  message.FinishReason
	// thought: the last block is reasoning that goes back.
	thought bool
	// refused: the text is the model's refusal.
	refused bool
	// usage is the server's; counted: it has come.
	usage   message.Usage
	counted bool
}

// play reads events until the end of the stream. With a finish the answer is complete; an
// error after that does not matter.
func (a *chat) play() error {
	for {
		ev, err := a.Stream.Next()
		done := false
		if err == nil {
			done, err = a.event(ev)
		}
		switch {
		case a.left:
			return nil
		case err != nil && a.finish != "" && a.Stream.Lost(err):
			return a.end()
		case err != nil:
			return err
		case done:
			if a.finish == "" {
				return a.Stream.NoFinish("there was only [DONE]")
			}
			err := a.end()
			a.Stream.Drain()
			return err
		default:
			a.Stream.Finishing(a.finish != "")
		}
	}
}

// event reads one event. Its data has one or more values.
func (a *chat) event(ev sse.Event) (done bool, err error) {
	data := ev.Data
	if ev.Name == wire.Failed && len(data) > 0 {
		return false, a.Server.Failure(data)
	}
	a.data = *bytes.NewBuffer(data)
	a.json.Reset(&a.data, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		rest := bytes.TrimLeft(data[a.json.InputOffset():], " \t\r\n")
		if len(rest) == 0 || bytes.HasPrefix(rest, []byte("[DONE]")) {
			return len(rest) > 0, nil
		}
		a.chunk = chunk{Choices: a.chunk.Choices[:0]}
		if err := json.UnmarshalDecode(&a.json, &a.chunk); err != nil {
			return false, a.misread(err, ev)
		}
		if err := a.take(&a.chunk); err != nil || a.left {
			return false, err
		}
	}
}

func (a *chat) take(c *chunk) error {
	if why := c.refusal(); why != nil {
		return a.Server.Shown(why.Error(http.StatusOK))
	}
	if u, counted := c.tokens(); counted {
		a.usage, a.counted = u, true
	}
	d := c.delta()
	if d.repeat && a.sent > 0 {
		d.text, d.reasoning, d.calls = wire.Piece{}, wire.Piece{}, nil
	}
	a.refused = a.refused || d.refused
	if d.says() {
		a.finish = "" // not the end: more follows
	}
	if !a.say(message.ChunkReasoning, &a.reasoningHalf, d.reasoning) {
		return nil
	}
	a.thought = a.thought || !d.reasoning.Empty()
	if !d.text.Empty() && (!a.endThought() || !a.say(message.ChunkText, &a.textHalf, d.text)) {
		return nil
	}
	a.calls.chunks++
	for i := range d.calls {
		if err := a.call(&d.calls[i]); err != nil || a.left {
			return err
		}
	}
	if d.finish != "" {
		var ok bool
		if a.finish, ok = finishOf(d.finish); !ok {
			return a.Server.Shown(&provider.ServerError{Status: http.StatusOK, Message: "the server gave up: " + d.finish})
		}
	}
	return nil
}

// endThought marks reasoning that goes back, so that the reasoning of others does not; it
// returns false if the consumer has stopped.
func (a *chat) endThought() bool {
	if !a.thought || !a.Marks {
		return true
	}
	a.thought = false
	return a.tail(message.ChunkReasoning, &a.reasoningHalf) &&
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(a.Vendor, Mark{})})
}

// end ends open blocks and sends the finish.
func (a *chat) end() error {
	_ = a.tail(message.ChunkReasoning, &a.reasoningHalf) && a.endThought() && a.tail(message.ChunkText, &a.textHalf)
	if a.refused && a.finish != message.FinishLength {
		a.finish = message.FinishFilter
	}
	if err := a.endCalls(); err != nil {
		return err
	}
	switch n := len(a.calls.all); {
	case n > 0 && (a.finish == message.FinishStop || a.finish == message.FinishOther):
		a.finish = message.FinishTools
	case n == 0 && a.finish == message.FinishTools:
		a.finish = message.FinishStop
	}
	if !a.counted {
		a.usage = wire.Estimate(a.Text, a.sent)
	}
	a.send(message.Chunk{Kind: message.ChunkFinish, Finish: a.finish, Usage: a.usage})
	return nil
}

// finishOf maps a server's finish reason; false if the answer was not finished.
func finishOf(reason string) (message.FinishReason, bool) {
	switch strings.ToLower(reason) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed", "end":
		return message.FinishStop, true
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return message.FinishTools, true
	case "length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded":
		return message.FinishLength, true
	case "content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "refusal", "sensitive":
		return message.FinishFilter, true
	case "error", "abort", "aborted", "cancelled", "canceled", "network_error", "insufficient_system_resource":
		return "", false
	}
	return message.FinishOther, true
}
