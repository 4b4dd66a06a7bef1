package recordings

import (
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
)

type chatEvent struct {
	Choices []struct {
		Delta struct {
			Content          string `json:"content"`
			Refusal          string `json:"refusal"`
			Reasoning        string `json:"reasoning"`
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				Index    int    `json:"index"`
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input   int64 `json:"prompt_tokens"`
		Output  int64 `json:"completion_tokens"`
		Total   int64 `json:"total_tokens"`
		OfInput struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		OfOutput struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func readChat(events []json.RawMessage) (a Answer, err error) {
	calls := map[int]*Call{}
	var order []int
	finish := ""
	for _, data := range events {
		var ev chatEvent
		if err := json.Unmarshal(data, &ev); err != nil {
			return a, err
		}
		if ev.Error != nil {
			return Answer{Failure: ev.Error.Message}, nil
		}
		for _, choice := range ev.Choices {
			d := choice.Delta
			a.Text += d.Content + d.Refusal
			if a.Reasoning += d.ReasoningContent; d.ReasoningContent == "" {
				a.Reasoning += d.Reasoning
			}
			for _, c := range d.ToolCalls {
				if calls[c.Index] == nil {
					calls[c.Index] = &Call{ID: c.ID, Tool: c.Function.Name}
					order = append(order, c.Index)
				}
				calls[c.Index].Arguments += c.Function.Arguments
			}
			if choice.Finish != "" {
				finish = choice.Finish
			}
		}
		if u := ev.Usage; u != nil {
			// Some servers count reasoning beside the output, some within: the total tells, or
			// that there is more reasoning than output.
			a.Usage = message.Usage{Input: u.Input, Output: max(u.Output, u.Total-u.Input), CacheRead: u.OfInput.Cached,
				CacheWrite: u.OfInput.Written, Reasoning: u.OfOutput.Reasoning}
			if a.Usage.Reasoning > a.Usage.Output {
				a.Usage.Output += a.Usage.Reasoning
			}
		}
	}
	for _, i := range order {
		a.Calls = append(a.Calls, *calls[i])
	}
	switch finish {
	case "stop", "tool_calls":
		a.Finish = a.calling()
	case "length":
		a.Finish = message.FinishLength
	case "content_filter":
		a.Finish = message.FinishFilter
	default:
		return a, fmt.Errorf("unknown finish reason %q", finish)
	}
	return a, nil
}
