package recordings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Answer is what a recording says, read without any adapter.
type Answer struct {
	// Text and Reasoning are all their parts, joined.
	Text, Reasoning string
	Calls           []Call
	Finish          message.FinishReason
	Usage           message.Usage
	// Signed are the texts that the server wants back as they are: signatures, encrypted
	// and redacted reasoning.
	Signed []string
	// Failure is what the server says instead of an answer; "" if it answers.
	Failure string
}

// Call is a tool call. ID is "" where the wire has none.
type Call struct{ ID, Tool, Arguments string }

// Read reads the body of a recording.
func Read(r Recording, body []byte) (Answer, error) {
	if r.Refused() {
		return refusal(body)
	}
	events, err := eventsOf(body)
	if err != nil {
		return Answer{}, err
	}
	switch r.Wire {
	case Chat:
		return readChat(events)
	case Responses:
		return readResponses(events)
	case Anthropic:
		return readAnthropic(events)
	case Gemini:
		return readGemini(events)
	}
	return Answer{}, fmt.Errorf("no wire is called %q", r.Wire)
}

// eventsOf returns the data of the events, without the end marker of chat completions.
func eventsOf(body []byte) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for line := range bytes.Lines(body) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		data = bytes.TrimSpace(data)
		if !ok || len(data) == 0 || string(data) == "[DONE]" {
			continue
		}
		if !json.Valid(data) {
			return nil, fmt.Errorf("an event is no JSON: %.100s", data)
		}
		all = append(all, data)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no events")
	}
	return all, nil
}

// refusal reads the body of an error, which all vendors put into the same member.
func refusal(body []byte) (Answer, error) {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return Answer{}, err
	}
	if e.Error.Message == "" {
		return Answer{}, fmt.Errorf("an error says nothing: %.100s", body)
	}
	return Answer{Failure: e.Error.Message}, nil
}

// calling returns the finish reason of an answer that ended by itself.
func (a *Answer) calling() message.FinishReason {
	if len(a.Calls) > 0 {
		return message.FinishTools
	}
	return message.FinishStop
}

// words joins what is left of a text without blanks: where reasoning has several parts, readers
// may put any blanks between them.
func words(text string) string { return strings.Join(strings.Fields(text), "") }
