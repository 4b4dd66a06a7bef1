package langchaingo

import (
	"context"
	"strings"

	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/llms"

	"github.com/grapnel-go/grapnel/bench/work"
)

// model is the scripted model.
type model struct {
	turn    work.Turn
	all     work.Ledgers
	handler callbacks.Handler // nil if there is none
}

var _ llms.Model = (*model)(nil)

// GenerateContent implements llms.Model.
func (m *model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	if m.handler != nil {
		m.handler.HandleLLMGenerateContentStart(ctx, messages)
	}
	var opts llms.CallOptions
	for _, o := range options {
		o(&opts)
	}
	l := m.all.In(ctx)
	calls, err := l.Model(seen(messages, len(opts.Functions)))
	if err != nil {
		return nil, err
	}
	choice := &llms.ContentChoice{}
	if calls > 0 {
		choice.ToolCalls = ask(l, calls)
	} else {
		choice.Content = l.Answer()
		for range m.turn.Deltas {
			if err := opts.StreamingFunc(ctx, []byte(work.Word)); err != nil {
				return nil, err
			}
		}
	}
	r := &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}
	if m.handler != nil {
		m.handler.HandleLLMGenerateContentEnd(ctx, r)
	}
	return r, nil
}

// Call implements llms.Model.
func (m *model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// ask returns calls of the tool.
func ask(l *work.Ledger, calls int) []llms.ToolCall {
	out := make([]llms.ToolCall, calls)
	for i := range out {
		out[i] = llms.ToolCall{ID: l.ID(), Type: "function", FunctionCall: &llms.FunctionCall{Name: work.Tool, Arguments: work.Args}}
	}
	return out
}

// seen is what the request shows. Of the system prompts the first says what the agent
// is, and the second, if there is one, has each message of old in a line after its
// first.
func seen(messages []llms.MessageContent, tools int) work.Seen {
	s := work.Seen{Tools: tools, Messages: len(messages)}
	for _, m := range messages {
		if m.Role != llms.ChatMessageTypeSystem {
			break
		}
		s.Messages--
		if text, ok := m.Parts[0].(llms.TextContent); ok {
			s.Messages += strings.Count(text.Text, "\n")
		}
	}
	for ; s.Results < len(messages); s.Results++ {
		r, ok := messages[len(messages)-1-s.Results].Parts[0].(llms.ToolCallResponse)
		if !ok {
			break
		}
		if s.Results == 0 {
			s.Last = r.Content
		}
	}
	return s
}
