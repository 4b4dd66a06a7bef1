package recordings

import (
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
)

type responsesEvent struct {
	Type     string        `json:"type"`
	Item     responsesItem `json:"item"`
	Response struct {
		Output     []responsesItem `json:"output"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Usage struct {
			Input   int64 `json:"input_tokens"`
			Output  int64 `json:"output_tokens"`
			OfInput struct {
				Cached  int64 `json:"cached_tokens"`
				Written int64 `json:"cache_write_tokens"`
			} `json:"input_tokens_details"`
			OfOutput struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		} `json:"usage"`
	} `json:"response"`
}

type responsesItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Encrypted string `json:"encrypted_content"`
	Content   []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// readResponses reads the last event, which has the whole answer once more. Only encrypted
// reasoning is that of the items' own ends: it differs from event to event.
func readResponses(events []json.RawMessage) (a Answer, err error) {
	for _, data := range events {
		var ev responsesEvent
		if err := json.Unmarshal(data, &ev); err != nil {
			return a, err
		}
		switch ev.Type {
		case "response.output_item.done":
			if ev.Item.Encrypted != "" {
				a.Signed = append(a.Signed, ev.Item.Encrypted)
			}
		case "response.failed":
			return Answer{Failure: ev.Response.Error.Message}, nil
		case "response.completed", "response.incomplete":
			for _, item := range ev.Response.Output {
				a.item(item)
			}
			u := ev.Response.Usage
			a.Usage = message.Usage{Input: u.Input, Output: u.Output, CacheRead: u.OfInput.Cached, CacheWrite: u.OfInput.Written, Reasoning: u.OfOutput.Reasoning}
			switch ev.Response.Incomplete.Reason {
			case "":
				a.Finish = a.calling()
			case "max_output_tokens":
				a.Finish = message.FinishLength
			case "content_filter":
				a.Finish = message.FinishFilter
			default:
				return a, fmt.Errorf("unknown reason %q", ev.Response.Incomplete.Reason)
			}
			return a, nil
		}
	}
	return a, fmt.Errorf("the response does not end")
}

func (a *Answer) item(item responsesItem) {
	if item.Type == "function_call" {
		a.Calls = append(a.Calls, Call{ID: item.CallID, Tool: item.Name, Arguments: item.Arguments})
	}
	for _, part := range item.Content {
		if item.Type == "message" {
			a.Text += part.Text + part.Refusal
		}
	}
	for _, part := range item.Summary {
		a.Reasoning += part.Text
	}
}
