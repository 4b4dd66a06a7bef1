package eino

import (
	"context"

	"github.com/cloudwego/eino/callbacks"
	einomodel "github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	template "github.com/cloudwego/eino/utils/callbacks"

	"github.com/grapnel-go/grapnel/bench/work"
)

func startReact(ctx context.Context, t work.Turn) (*work.Running, error) {
	if t.Dir != "" {
		return nil, work.Lack(NoStore)
	}
	all := work.NewLedgers(t)
	list, err := tools(t, all)
	if err != nil {
		return nil, err
	}
	a, err := newReact(ctx, newModel(t, all), list)
	if err != nil {
		return nil, err
	}
	in, opts := messages(t), reactHooks(t, all)
	if t.Deltas > 0 {
		return running(all, func(ctx context.Context, i int) (string, error) {
			stream, err := a.Stream(ctx, in, opts...)
			if err != nil {
				return "", err
			}
			return consume(all[i], stream)
		}), nil
	}
	return running(all, func(ctx context.Context, _ int) (string, error) {
		m, err := a.Generate(ctx, in, opts...)
		if err != nil {
			return "", err
		}
		return m.Content, nil
	}), nil
}

func newReact(ctx context.Context, m model, list []tool.BaseTool) (*react.Agent, error) {
	return react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: m,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: list},
		MaxStep:          12, // nodes that are run: the model and the tools are one each
	})
}

// reactHooks are callbacks of models and tools, as react.BuildAgentCallback makes them.
func reactHooks(t work.Turn, all work.Ledgers) []agent.AgentOption {
	if t.Hooks == 0 {
		return nil
	}
	handlers := make([]callbacks.Handler, t.Hooks)
	for i := range handlers {
		handlers[i] = react.BuildAgentCallback(
			&template.ModelCallbackHandler{
				OnStart: func(ctx context.Context, _ *callbacks.RunInfo, _ *einomodel.CallbackInput) context.Context {
					all.In(ctx).Hook()
					return ctx
				},
				OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, _ *einomodel.CallbackOutput) context.Context {
					all.In(ctx).Hook()
					return ctx
				},
			},
			&template.ToolCallbackHandler{
				OnStart: func(ctx context.Context, _ *callbacks.RunInfo, _ *tool.CallbackInput) context.Context {
					all.In(ctx).Hook()
					return ctx
				},
				OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, _ *tool.CallbackOutput) context.Context {
					all.In(ctx).Hook()
					return ctx
				},
			})
	}
	return []agent.AgentOption{agent.WithComposeOptions(compose.WithCallbacks(handlers...))}
}

// reactAgents are agents that are found by their names. The messages of a turn come
// from a MessageFuture, and are kept.
func reactAgents(ctx context.Context, t work.Turn) (*work.Agents, error) {
	all := work.NewLedgers(t)
	list, err := tools(t, all)
	if err != nil {
		return nil, err
	}
	m, registry := newModel(t, all), map[string]*reactAgent{}
	return &work.Agents{
		Register: func(ctx context.Context, i int) error {
			a, err := newReact(ctx, m, list)
			registry[work.AgentName(i)] = &reactAgent{agent: a}
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

type reactAgent struct {
	agent   *react.Agent
	history []*schema.Message
}

func (a *reactAgent) send(ctx context.Context) (string, error) {
	a.history = append(a.history, schema.UserMessage(work.Say))
	option, future := react.WithMessageFuture()
	if _, err := a.agent.Generate(ctx, a.history, option); err != nil {
		return "", err
	}
	next := future.GetMessages()
	for {
		m, ok, err := next.Next()
		if err != nil {
			return "", err
		}
		if !ok {
			return a.history[len(a.history)-1].Content, nil
		}
		a.history = append(a.history, m)
	}
}
