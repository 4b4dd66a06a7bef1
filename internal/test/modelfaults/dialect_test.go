package modelfaults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// dialect is a wire that models are asked over.
type dialect struct {
	name string
	// open returns the adapter, over a network within the process.
	open func(http.RoundTripper) provider.Provider
	// first and last write the events of the two answers of a script.
	first, last func(script) []string
	// finish is a part of the event that says that an answer is whole, and arguments what
	// stands before the first piece of arguments.
	finish, arguments string
	// call tells which call of which turn a request makes, check why a strict server
	// would not take it.
	call  func(body []byte) (modelCall, error)
	check func(body []byte) *strictwire.Refusal
}

// Times after which the adapters give up an answer.
const (
	headTime = 30 * time.Second
	idleTime = 20 * time.Second
)

// dialects are those of the module's adapters: one line for each.
func dialects() []dialect {
	return []dialect{
		{"openai", openAI, openAIFirst, openAILast, `"finish_reason":"`, `"arguments":`, openAICall, strictwire.CheckOpenAI},
	}
}

// modelCall is a call of a turn: its first or its second.
type modelCall struct {
	turn string
	step int
}

func openAI(rt http.RoundTripper) provider.Provider {
	return openai.New(&openai.Options{
		BaseURL: "http://model.test/v1", Network: provider.Network{Client: &http.Client{Transport: rt}, FirstByteTimeout: headTime, IdleTimeout: idleTime},
	})
}

func openAIFirst(s script) []string {
	events := openAIText(s.first)
	args := quoted(map[string]string{"path": s.path})
	events = append(events, openAIEvent(`{"tool_calls":[{"index":0,"id":"call_notes","type":"function","function":{"name":"read","arguments":""}}]}`, "null"))
	for _, piece := range inPieces(args) {
		events = append(events, openAIEvent(`{"tool_calls":[{"index":0,"function":{"arguments":`+quoted(piece)+`}}]}`, "null"))
	}
	return append(events, openAIEvent(`{}`, `"tool_calls"`), "data: [DONE]\n\n")
}

func openAILast(s script) []string {
	return append(openAIText(s.last), openAIEvent(`{}`, `"stop"`), "data: [DONE]\n\n")
}

func openAIText(text string) []string {
	events := []string{openAIEvent(`{"role":"assistant","content":""}`, "null")}
	for _, piece := range inPieces(text) {
		events = append(events, openAIEvent(`{"content":`+quoted(piece)+`}`, "null"))
	}
	return events
}

func openAIEvent(delta, finish string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
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

// openAICall tells from a request which call of which turn it makes: what the user said last,
// and whether the tool has answered since.
func openAICall(body []byte) (c modelCall, err error) {
	var req struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err = json.Unmarshal(body, &req); err != nil {
		return c, err
	}
	for _, m := range req.Messages {
		switch m.Role {
		case "user":
			c = modelCall{turn: fmt.Sprint(m.Content)}
		case "tool":
			c.step++
		}
	}
	if c.turn == "" {
		err = errors.New("a request in which no user speaks")
	}
	return c, err
}
