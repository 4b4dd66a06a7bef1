package eino

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/grapnel-go/grapnel/bench/work"
)

// startADK builds an agent for each conversation: each run of an agent compiles its graph
// and writes to nodes that other runs of the same agent read, so that one agent must
// not run twice at the same time.
func startADK(ctx context.Context, t work.Turn) (*work.Running, error) {
	if t.Dir != "" {
		return nil, work.Lack(NoStore)
	}
	all := work.NewLedgers(t)
	list, err := tools(t, all)
	if err != nil {
		return nil, err
	}
	runners := make([]*adk.Runner, len(all))
	for i := range runners {
		if runners[i], err = newADK(ctx, work.AgentName(i), t, newModel(t, all), list); err != nil {
			return nil, err
		}
	}
	in := messages(t)
	return running(all, func(ctx context.Context, i int) (answer string, err error) {
		next := runners[i].Run(ctx, in)
		for {
			e, ok := next.Next()
			if !ok {
				return answer, nil
			}
			if e.Err != nil {
				return "", e.Err
			}
			switch out := e.Output.MessageOutput; {
			case !out.IsStreaming:
				answer = out.Message.Content
			default:
				if answer, err = consume(all[i], out.MessageStream); err != nil {
					return "", err
				}
			}
		}
	}), nil
}

func newADK(ctx context.Context, name string, t work.Turn, m model, list []tool.BaseTool) (*adk.Runner, error) {
	a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        name,
		Description: "finds lists",
		Model:       m,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: list}},
		Middlewares: adkHooks(t, m.all),
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: t.Deltas > 0}), nil
}

// adkHooks are middlewares, which are the hooks of a ChatModelAgent.
func adkHooks(t work.Turn, all work.Ledgers) []adk.AgentMiddleware {
	model := func(ctx context.Context, _ *adk.ChatModelAgentState) error {
		all.In(ctx).Hook()
		return nil
	}
	wrap := func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
		return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
			all.In(ctx).Hook()
			out, err := next(ctx, in)
			all.In(ctx).Hook()
			return out, err
		}
	}
	list := make([]adk.AgentMiddleware, t.Hooks)
	for i := range list {
		list[i] = adk.AgentMiddleware{
			BeforeChatModel: model,
			AfterChatModel:  model,
			WrapToolCall:    compose.ToolMiddleware{Invokable: wrap},
		}
	}
	return list
}

// adkAgents are agents that are found by their names. The messages of a turn come
// as events, and are kept. An agent's graph is made at its first turn.
func adkAgents(_ context.Context, t work.Turn) (*work.Agents, error) {
	all := work.NewLedgers(t)
	list, err := tools(t, all)
	if err != nil {
		return nil, err
	}
	m, registry := newModel(t, all), map[string]*adkAgent{}
	return &work.Agents{
		Register: func(ctx context.Context, i int) error {
			name := work.AgentName(i)
			r, err := newADK(ctx, name, t, m, list)
			registry[name] = &adkAgent{runner: r}
			return err
		},
		Send: func(ctx context.Context, i int) error {
			all[0].Begin()
			answer, err := registry[work.AgentName(i)].send(ctx)
			if err != nil {
				return err
			}
			return all[0].End(answer)
		},
	}, nil
}

type adkAgent struct {
	runner  *adk.Runner
	history []*schema.Message
}

func (a *adkAgent) send(ctx context.Context) (string, error) {
	a.history = append(a.history, schema.UserMessage(work.Say))
	next := a.runner.Run(ctx, a.history)
	for {
		e, ok := next.Next()
		if !ok {
			return a.history[len(a.history)-1].Content, nil
		}
		if e.Err != nil {
			return "", e.Err
		}
		a.history = append(a.history, e.Output.MessageOutput.Message)
	}
}
