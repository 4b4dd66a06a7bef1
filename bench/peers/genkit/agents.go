package genkit

import (
	"context"
	"fmt"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/grapnel-go/grapnel/bench/work"
)

// input is the input of a prompt.
type input struct {
	Say string `json:"say"`
}

// agents are prompts, which is what Genkit has that comes nearest: a prompt has a name,
// by which it is found, a model, tools, and a template of what the person says. Each is
// an action with a schema. The tools are shared by their names. The conversations are
// kept here.
func agents(ctx context.Context, t work.Turn) (*work.Agents, error) {
	ctx, cancel := context.WithCancel(ctx)
	g, err := open(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	all := work.NewLedgers(t)
	shared := []ai.PromptOption{
		ai.WithModel(newModel(g, t, all, true)),
		ai.WithTools(newTools(g, t.Tools, all)...),
		ai.WithInputType(input{}),
		ai.WithPrompt("{{say}}"),
	}
	said := ai.WithInput(input{Say: work.Say})
	histories := map[int][]*ai.Message{}
	return &work.Agents{
		Register: func(_ context.Context, i int) error {
			genkit.DefinePrompt(g, work.AgentName(i), shared...)
			return nil
		},
		Send: func(ctx context.Context, i int) error {
			p := genkit.LookupPrompt(g, work.AgentName(i))
			if p == nil {
				return fmt.Errorf("no prompt %d", i)
			}
			all[0].Begin()
			r, err := p.Execute(ctx, said, ai.WithMessages(histories[i]...))
			if err != nil {
				return err
			}
			histories[i] = r.History()
			return all[0].End(r.Text())
		},
		Close: func() error { cancel(); return nil },
	}, nil
}
