package langchaingo

import (
	"context"

	langchain "github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/memory"

	"github.com/grapnel-go/grapnel/bench/work"
)

// agents are agents, each in an executor with a memory. They have no names. They share
// the tools and the model.
func agents(_ context.Context, t work.Turn) (*work.Agents, error) {
	all := work.NewLedgers(t)
	m, shared := &model{turn: t, all: all}, newTools(t.Tools, all, nil)
	var executors []*langchain.Executor
	return &work.Agents{
		Register: func(context.Context, int) error {
			agent := newAgent(m, shared, true)
			executors = append(executors, langchain.NewExecutor(agent, langchain.WithMemory(memory.NewConversationBuffer())))
			return nil
		},
		Send: func(ctx context.Context, i int) error {
			all[0].Begin()
			answer, err := chains.Run(ctx, executors[i], work.Say)
			if err != nil {
				return err
			}
			return all[0].End(answer)
		},
	}, nil
}
