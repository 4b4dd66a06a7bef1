package modelfaults_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/internal/test/wires"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

// dialect is a wire that models are asked over.
type dialect struct {
	name string
	// wire writes the answers and opens the adapter.
	wire providertest.Wire
	// arguments is what stands before the first piece of arguments, and finish a part of
	// what says that an answer is whole, in answers of aimock too.
	arguments, finish string
	// atOnce: a call is one event, so that an event that comes twice is two calls.
	atOnce bool
	// check tells why a strict server would not take a request to the model.
	check func(model string, body []byte) *strictwire.Refusal
}

// Times after which the adapters give up an answer.
const (
	headTime = 30 * time.Second
	idleTime = 20 * time.Second
)

// dialects are those of the module's adapters: one line for each.
func dialects() []dialect {
	return []dialect{
		{"chat", wires.Chat(openAI(openai.WireChat)), `"arguments":"`, `"finish_reason":"`, false, strictwire.Chat().Check},
		{"responses", wires.Responses(openAI(openai.WireResponses)), "response.function_call_arguments.delta", "event: response.completed", false, strictwire.Responses().Check},
		{"messages", wires.Messages(claude), `"partial_json":"`, "event: message_delta", false, strictwire.Messages().Check},
		{"gemini", wires.Gemini(google), `"args":{`, `"finishReason":"`, true, strictwire.Gemini().Check},
	}
}

// networkOf is the network of an adapter of the server.
func networkOf(s providertest.Server) provider.Network {
	return provider.Network{Client: s.Client(), FirstByteTimeout: headTime, IdleTimeout: idleTime}
}

func openAI(wire openai.Wire) wires.Open {
	return func(s providertest.Server) provider.Provider {
		return openai.New(&openai.Options{BaseURL: s.URL + "/v1", Wire: wire, Network: networkOf(s)})
	}
}

func claude(s providertest.Server) provider.Provider {
	return anthropic.New(&anthropic.Options{BaseURL: s.URL, Network: networkOf(s)})
}

func google(s providertest.Server) provider.Provider {
	return gemini.New(&gemini.Options{BaseURL: s.URL, Network: networkOf(s)})
}

// open returns the adapter over a network within the process.
func (d dialect) open(rt http.RoundTripper) provider.Provider {
	return d.wire.Open(providertest.Server{URL: "http://model.test", Transport: rt})
}

// model is the model that is asked.
func (d dialect) model() string {
	if d.wire.Model != "" {
		return d.wire.Model
	}
	return "m"
}

// first and last write the two answers of a script.
func (d dialect) first(s script) providertest.Stream {
	pieces := append(texts(s.first), providertest.Piece{Kind: providertest.PieceCall, ID: "call_notes", Tool: "read"})
	for _, piece := range inPieces(quoted(map[string]string{"path": s.path})) {
		pieces = append(pieces, providertest.Piece{Kind: providertest.PieceArguments, Text: piece})
	}
	return d.wire.Answer(providertest.Answer{Pieces: pieces, Finish: message.FinishTools, Usage: message.Usage{Input: 9, Output: 9}})
}

func (d dialect) last(s script) providertest.Stream {
	return d.wire.Answer(providertest.Answer{Pieces: texts(s.last), Finish: message.FinishStop, Usage: message.Usage{Input: 9, Output: 9}})
}

func texts(text string) (out []providertest.Piece) {
	for _, piece := range inPieces(text) {
		out = append(out, providertest.Piece{Kind: providertest.PieceText, Text: piece})
	}
	return out
}

// inPieces cuts a text as models do, into a few characters each.
func inPieces(text string) (out []string) {
	const size = 7
	for rs := []rune(text); len(rs) > 0; rs = rs[min(size, len(rs)):] {
		out = append(out, string(rs[:min(size, len(rs))]))
	}
	return out
}

func quoted(v any) string {
	data, _ := json.Marshal(v) // strings always marshal
	return string(data)
}

// modelCall is a call of a turn: its first or its second.
type modelCall struct {
	turn string
	step int
}

// asked is what a user says first.
const asked = "read the notes"

// callOf tells from a request, of whatever wire, which call of which turn it makes: what the
// user said, and whether there is a result.
func callOf(body []byte) (c modelCall, err error) {
	var request any
	if err = json.Unmarshal(body, &request); err != nil {
		return c, err
	}
	each(request, func(v any) {
		if text, ok := v.(string); ok && strings.HasPrefix(text, asked) {
			c.turn = text
		}
		if isResult(v) {
			c.step = 1
		}
	})
	if c.turn == "" {
		err = errors.New("a request in which no user speaks")
	}
	return c, err
}

// isResult reports whether a part of a request is the result of a call, on any wire.
func isResult(v any) bool {
	o, ok := v.(map[string]any)
	return ok && (o["role"] == "tool" || o["type"] == "function_call_output" || o["type"] == "tool_result" || o["functionResponse"] != nil)
}

// each calls f for a value and every value in it.
func each(v any, f func(any)) {
	f(v)
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			each(e, f)
		}
	case map[string]any:
		for _, e := range v {
			each(e, f)
		}
	}
}
