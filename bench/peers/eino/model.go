package eino

import (
	"context"
	"errors"
	"io"
	"strings"

	einomodel "github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/grapnel-go/grapnel/bench/work"
)

// model is the scripted model. It makes each piece of a stream when it is read, without
// the goroutine and the channel of schema.Pipe that a model at the end of a wire has.
// A message for each piece is what its interface asks for. An array of pieces that are
// all there before the turn begins would be no stream: eino hands it on as it is, for
// 131 allocations of 1,000 pieces instead of 2,138.
type model struct {
	turn   work.Turn
	all    work.Ledgers
	tools  []*schema.ToolInfo
	chunks []struct{}
}

var _ einomodel.ToolCallingChatModel = model{}

func newModel(t work.Turn, all work.Ledgers) model {
	return model{turn: t, all: all, chunks: make([]struct{}, t.Deltas)}
}

// WithTools implements model.ToolCallingChatModel.
func (m model) WithTools(tools []*schema.ToolInfo) (einomodel.ToolCallingChatModel, error) {
	m.tools = tools
	return m, nil
}

// GetType implements components.Typer, as models do.
func (m model) GetType() string { return "Scripted" }

// Generate implements model.BaseChatModel.
func (m model) Generate(ctx context.Context, history []*schema.Message, _ ...einomodel.Option) (*schema.Message, error) {
	l := m.all.In(ctx)
	n, err := l.Model(m.seen(history))
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return schema.AssistantMessage(l.Answer(), nil), nil
	}
	calls := make([]schema.ToolCall, n)
	for i := range calls {
		calls[i] = schema.ToolCall{ID: l.ID(), Type: "function", Function: schema.FunctionCall{Name: work.Tool, Arguments: work.Args}}
	}
	return schema.AssistantMessage("", calls), nil
}

// Stream implements model.BaseChatModel.
func (m model) Stream(ctx context.Context, history []*schema.Message, opts ...einomodel.Option) (*schema.StreamReader[*schema.Message], error) {
	whole, err := m.Generate(ctx, history, opts...)
	if err != nil {
		return nil, err
	}
	if len(whole.ToolCalls) > 0 || len(m.chunks) == 0 {
		return schema.StreamReaderFromArray([]*schema.Message{whole}), nil
	}
	return schema.StreamReaderWithConvert(schema.StreamReaderFromArray(m.chunks), func(struct{}) (*schema.Message, error) {
		return schema.AssistantMessage(work.Word, nil), nil
	}), nil
}

// seen is what the model is shown.
func (m model) seen(history []*schema.Message) work.Seen {
	n := len(history)
	s := work.Seen{Tools: len(m.tools), Messages: n, Last: history[n-1].Content}
	for s.Results < n && history[n-1-s.Results].Role == schema.Tool {
		s.Results++
	}
	return s
}

// consume reads a streamed answer to its end: it tells the ledger each delta and
// returns all of the text.
func consume(l *work.Ledger, stream *schema.StreamReader[*schema.Message]) (string, error) {
	defer stream.Close()
	var text strings.Builder
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		l.Delta(m.Content)
		text.WriteString(m.Content)
	}
}
