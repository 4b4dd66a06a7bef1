package eino

import (
	"context"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

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

// reactHooks are callbacks of all models and tools.
func reactHooks(t work.Turn, all work.Ledgers) []agent.AgentOption {
	if t.Hooks == 0 {
		return nil
	}
	handlers := make([]callbacks.Handler, t.Hooks)
	for i := range handlers {
		handlers[i] = &counter{all: all}
	}
	return []agent.AgentOption{agent.WithComposeOptions(compose.WithCallbacks(handlers...))}
}

// counter is a handler that says what it needs, so that it is told nothing else. It costs 4
// allocations a turn; one of react.BuildAgentCallback, whose arguments are typed, 10.
type counter struct{ all work.Ledgers }

var (
	_ callbacks.Handler       = (*counter)(nil)
	_ callbacks.TimingChecker = (*counter)(nil)
)

// Needed implements callbacks.TimingChecker.
func (c *counter) Needed(_ context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	return (timing == callbacks.TimingOnStart || timing == callbacks.TimingOnEnd) && info != nil &&
		(info.Component == components.ComponentOfChatModel || info.Component == components.ComponentOfTool)
}

// OnStart implements callbacks.Handler.
func (c *counter) OnStart(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
	c.all.In(ctx).Hook()
	return ctx
}

// OnEnd implements callbacks.Handler.
func (c *counter) OnEnd(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
	c.all.In(ctx).Hook()
	return ctx
}

// OnError implements callbacks.Handler. It is not needed.
func (c *counter) OnError(ctx context.Context, _ *callbacks.RunInfo, _ error) context.Context {
	return ctx
}

// OnStartWithStreamInput implements callbacks.Handler. It is not needed.
func (c *counter) OnStartWithStreamInput(ctx context.Context, _ *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput]) context.Context {
	in.Close()
	return ctx
}

// OnEndWithStreamOutput implements callbacks.Handler. It is not needed.
func (c *counter) OnEndWithStreamOutput(ctx context.Context, _ *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
	out.Close()
	return ctx
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
