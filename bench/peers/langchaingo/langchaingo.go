// Package langchaingo does the work with github.com/tmc/langchaingo v0.1.14: an
// agents.OpenAIFunctionsAgent, which asks a model for calls of functions, and an
// agents.Executor for each conversation, run with chains.Run.
//
// What it does more than Grapnel: the prompt is a set of templates of text/template with
// the functions of sprig, which are parsed and run before every call of the model. The
// list of functions that the model is told is built anew for each such call, and the
// map of tools by name for each turn.
//
// What it does less: a tool takes text and returns text, without types, without a schema
// but that of one argument of text, and without a check. The calls of an answer are
// executed one after the other. An error of a tool ends the turn, and a panic of one is
// not recovered. Handlers of callbacks are told of calls by those models and tools that
// have such a field and call it themselves, as those of langchaingo do and as those
// here do; they return nothing, so they can neither change nor stop a call. A memory
// keeps what the person said and the last answer, without calls and results, and hands
// all of it on as one text, because an executor takes no variables but text: here it
// stands in a system prompt, and the model counts its lines. Only where there is history
// to show or there are many conversations is there a memory, so that nothing else pays
// for it; Grapnel always keeps its conversation.
package langchaingo

import (
	"context"

	langchain "github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"
	"github.com/tmc/langchaingo/tools"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Subject is langchaingo.
var Subject = work.Subject{Name: "langchaingo", Start: start, Agents: agents}

func start(ctx context.Context, t work.Turn) (*work.Running, error) {
	all := work.NewLedgers(t)
	h := handler(t.Hooks, all)
	remembers := t.Messages > 0 || t.Conversations > 0
	agent := newAgent(&model{t, all, h}, newTools(t.Tools, all, h), remembers)
	memories, closeAll, err := memories(ctx, t, len(all))
	if err != nil {
		return nil, err
	}
	executors := make([]*langchain.Executor, len(all))
	options := make([][]chains.ChainCallOption, len(all))
	for i, l := range all {
		if remembers {
			executors[i] = langchain.NewExecutor(agent, langchain.WithMemory(memories[i]))
		} else {
			executors[i] = langchain.NewExecutor(agent)
		}
		if t.Deltas > 0 {
			options[i] = append(options[i], chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
				l.Delta(string(chunk))
				return nil
			}))
		}
	}
	return &work.Running{
		Send: func(ctx context.Context, i int) error {
			all[i].Begin()
			answer, err := chains.Run(all.With(ctx, i), executors[i], work.Say, options[i]...)
			if err != nil {
				return err
			}
			return all[i].End(answer)
		},
		Close: closeAll,
	}, nil
}

// newAgent returns an agent. If it remembers, its system prompt has the text of the
// memory, in the variable in which memories have it if nothing else is said.
func newAgent(m llms.Model, all []tools.Tool, remembers bool) *langchain.OpenAIFunctionsAgent {
	if !remembers {
		return langchain.NewOpenAIFunctionsAgent(m, all)
	}
	return langchain.NewOpenAIFunctionsAgent(m, all, langchain.NewOpenAIOption().WithExtraMessages([]prompts.MessageFormatter{
		prompts.NewSystemMessagePromptTemplate("The conversation so far:\n{{.history}}", []string{"history"}),
	}))
}

// tool is a tool of which every call is the same work.
type tool struct {
	name    string
	all     work.Ledgers
	handler callbacks.Handler // nil if there is none
}

var _ tools.Tool = (*tool)(nil)

func newTools(n int, all work.Ledgers, h callbacks.Handler) []tools.Tool {
	out := make([]tools.Tool, n)
	for i := range out {
		name := work.Tool
		if i > 0 {
			name = work.OtherTool(i)
		}
		out[i] = &tool{name, all, h}
	}
	return out
}

// Name implements tools.Tool.
func (t *tool) Name() string { return t.name }

// Description implements tools.Tool.
func (t *tool) Description() string { return work.About }

// Call implements tools.Tool.
func (t *tool) Call(ctx context.Context, input string) (string, error) {
	if t.handler != nil {
		t.handler.HandleToolStart(ctx, input)
	}
	out, err := t.all.In(ctx).FindJSON(input)
	if t.handler != nil {
		t.handler.HandleToolEnd(ctx, out)
	}
	return out, err
}

// counter is a hook.
type counter struct {
	callbacks.SimpleHandler
	all work.Ledgers
}

// handler returns what calls n counters; nil if there are none.
func handler(n int, all work.Ledgers) callbacks.Handler {
	if n == 0 {
		return nil
	}
	counters := make([]callbacks.Handler, n)
	for i := range counters {
		counters[i] = &counter{all: all}
	}
	return callbacks.CombiningHandler{Callbacks: counters}
}

// HandleLLMGenerateContentStart implements callbacks.Handler.
func (c *counter) HandleLLMGenerateContentStart(ctx context.Context, _ []llms.MessageContent) {
	c.all.In(ctx).Hook()
}

// HandleLLMGenerateContentEnd implements callbacks.Handler.
func (c *counter) HandleLLMGenerateContentEnd(ctx context.Context, _ *llms.ContentResponse) {
	c.all.In(ctx).Hook()
}

// HandleToolStart implements callbacks.Handler.
func (c *counter) HandleToolStart(ctx context.Context, _ string) { c.all.In(ctx).Hook() }

// HandleToolEnd implements callbacks.Handler.
func (c *counter) HandleToolEnd(ctx context.Context, _ string) { c.all.In(ctx).Hook() }
