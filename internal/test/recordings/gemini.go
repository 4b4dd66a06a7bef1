package recordings

import (
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
)

type geminiEvent struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text      string `json:"text"`
				Thought   bool   `json:"thought"`
				Signature string `json:"thoughtSignature"`
				Call      *struct {
					ID   string          `json:"id"`
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int64 `json:"promptTokenCount"`
		ToolPrompt int64 `json:"toolUsePromptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

func readGemini(events []json.RawMessage) (a Answer, err error) {
	finish := ""
	for _, data := range events {
		var ev geminiEvent
		if err := json.Unmarshal(data, &ev); err != nil {
			return a, err
		}
		if ev.Feedback.Block != "" {
			finish = "SAFETY"
		}
		if u := ev.Usage; u != nil {
			a.Usage = message.Usage{Input: u.Prompt + u.ToolPrompt, Output: u.Candidates + u.Thoughts, CacheRead: u.Cached, Reasoning: u.Thoughts}
		}
		for _, c := range ev.Candidates {
			for _, part := range c.Content.Parts {
				switch {
				case part.Thought:
					a.Reasoning += part.Text
				case part.Call != nil:
					a.Calls = append(a.Calls, Call{ID: part.Call.ID, Tool: part.Call.Name, Arguments: string(part.Call.Args)})
				default:
					a.Text += part.Text
				}
				if part.Signature != "" {
					a.Signed = append(a.Signed, part.Signature)
				}
			}
			if c.Finish != "" {
				finish = c.Finish
			}
		}
	}
	switch finish {
	case "STOP":
		a.Finish = a.calling()
	case "MAX_TOKENS":
		a.Finish = message.FinishLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII":
		a.Finish = message.FinishFilter
	default:
		return a, fmt.Errorf("unknown finish reason %q", finish)
	}
	return a, nil
}
