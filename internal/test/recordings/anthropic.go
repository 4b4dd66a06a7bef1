package recordings

import (
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
)

type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type, ID, Name, Text, Thinking, Data string
	} `json:"content_block"`
	Delta struct {
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Arguments string `json:"partial_json"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

type anthropicUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	OfOutput   struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func readAnthropic(events []json.RawMessage) (a Answer, err error) {
	var input, output, cacheRead, cacheWrite, thinking int64
	count := func(u anthropicUsage) { // the numbers of later events replace those of earlier ones
		for to, from := range map[*int64]*int64{&input: u.Input, &output: u.Output, &cacheRead: u.CacheRead, &cacheWrite: u.CacheWrite, &thinking: u.OfOutput.Thinking} {
			if from != nil {
				*to = *from
			}
		}
	}
	calls, signatures := map[int]*Call{}, map[int]string{}
	var order []int
	stop, ended := "", false
	for _, data := range events {
		var ev anthropicEvent
		if err := json.Unmarshal(data, &ev); err != nil {
			return a, err
		}
		switch ev.Type {
		case "error":
			return Answer{Failure: ev.Error.Message}, nil
		case "message_stop":
			ended = true
		case "content_block_start":
			if ev.Block.Type == "tool_use" {
				calls[ev.Index] = &Call{ID: ev.Block.ID, Tool: ev.Block.Name}
			}
			if ev.Block.Data != "" {
				a.Signed = append(a.Signed, ev.Block.Data)
			}
			order = append(order, ev.Index)
		}
		count(ev.Message.Usage)
		count(ev.Usage)
		a.Text += ev.Block.Text + ev.Delta.Text
		a.Reasoning += ev.Block.Thinking + ev.Delta.Thinking
		signatures[ev.Index] += ev.Delta.Signature
		if c := calls[ev.Index]; c != nil {
			c.Arguments += ev.Delta.Arguments
		}
		if ev.Delta.Stop != "" {
			stop = ev.Delta.Stop
		}
	}
	for _, i := range order {
		if calls[i] != nil {
			a.Calls = append(a.Calls, *calls[i])
		}
		if signatures[i] != "" {
			a.Signed = append(a.Signed, signatures[i])
		}
	}
	a.Usage = message.Usage{Input: input + cacheRead + cacheWrite, Output: output, CacheRead: cacheRead, CacheWrite: cacheWrite, Reasoning: thinking}
	if !ended {
		return a, fmt.Errorf("the message does not end")
	}
	return a, a.stop(stop)
}

func (a *Answer) stop(reason string) error {
	switch reason {
	case "end_turn", "stop_sequence", "tool_use":
		a.Finish = a.calling()
	case "max_tokens":
		a.Finish = message.FinishLength
	case "refusal":
		a.Finish = message.FinishFilter
	default:
		return fmt.Errorf("unknown stop reason %q", reason)
	}
	return nil
}
