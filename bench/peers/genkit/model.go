package genkit

import (
	"context"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/grapnel-go/grapnel/bench/work"
)

// newModel defines the scripted model. It says that it can do all that is asked of it,
// so that nothing is made up for it. If it is kept, an answer has the request with it,
// as those of Genkit's plugins do: ai.ModelResponse.History needs it, and all that is
// encoded of the answer is longer by it.
func newModel(g *genkit.Genkit, t work.Turn, all work.Ledgers, kept bool) ai.Model {
	o := &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, Tools: true, SystemRole: true, ToolChoice: true, Media: true}}
	// The plugins of Genkit hand it arguments that are decoded; as a model here costs
	// nothing, they are decoded once.
	args := map[string]any{"title": "Shopping list", "limit": 25}
	return genkit.DefineModel(g, "bench/scripted", o, func(ctx context.Context, req *ai.ModelRequest, stream ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		l, r := all.In(ctx), &ai.ModelResponse{FinishReason: ai.FinishReasonStop}
		if kept {
			r.Request = req
		}
		calls, err := l.Model(seen(req))
		if err != nil {
			return nil, err
		}
		if calls > 0 {
			r.Message = ai.NewModelMessage(ask(l, calls, args)...)
			return r, nil
		}
		for range t.Deltas {
			if err := stream(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{ai.NewTextPart(work.Word)}}); err != nil {
				return nil, err
			}
		}
		r.Message = ai.NewModelTextMessage(l.Answer())
		return r, nil
	})
}

// ask returns calls of the tool.
func ask(l *work.Ledger, calls int, args map[string]any) []*ai.Part {
	out := make([]*ai.Part, calls)
	for i := range out {
		out[i] = ai.NewToolRequestPart(&ai.ToolRequest{Name: work.Tool, Ref: l.ID(), Input: args})
	}
	return out
}

// seen is what the request shows. All results of a step are parts of one message.
func seen(req *ai.ModelRequest) work.Seen {
	s := work.Seen{Tools: len(req.Tools), Messages: len(req.Messages)}
	last := req.Messages[len(req.Messages)-1]
	if last.Role != ai.RoleTool {
		return s
	}
	s.Results = len(last.Content)
	s.Messages += s.Results - 1
	if out, ok := last.Content[s.Results-1].ToolResponse.Output.(map[string]any); ok {
		s.Last, _ = out["title"].(string)
	}
	return s
}
