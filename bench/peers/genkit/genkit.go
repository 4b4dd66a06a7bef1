// Package genkit does the work with github.com/firebase/genkit/go v1.4.0: typed tools
// of genkit.DefineTool and a call of genkit.Generate for each turn, outside of its
// development mode.
//
// What it does more than Grapnel: every call of the model or of a tool is an action. Its
// input and its output are encoded as JSON, decoded, and validated against a JSON
// Schema that is encoded and compiled anew each time; they are encoded again for a line
// of the log that is then not written, and once more for a span of OpenTelemetry, of
// which its own tracer provider takes all and, as there is no exporter, keeps none. The
// model's answer, and each call in it, is copied by way of JSON, and characters and
// images of requests and answers are counted. All that a model is shown goes that way,
// so a call of it costs in proportion to the number of tools and to the history.
//
// What it does less: it keeps no conversations, the caller hands it the messages with
// every call. A turn here is always handed the same history of old, so that it does not
// grow from turn to turn as Grapnel's does. The calls of an answer are executed at the
// same time, without a bound, and their results come in the order in which they are
// done; an error of a tool ends the turn, and a panic of one the process. There is
// middleware around the calls of a model and nothing around those of a tool.
package genkit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"
	"github.com/firebase/genkit/go/genkit"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Subject is Genkit.
var Subject = work.Subject{Name: "genkit", Start: start, Agents: agents}

func start(ctx context.Context, t work.Turn) (*work.Running, error) {
	switch {
	case t.Hooks > 0:
		return nil, NoHooks
	case t.Dir != "":
		return nil, NoDatabase
	}
	ctx, cancel := context.WithCancel(ctx)
	g, err := open(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	all := work.NewLedgers(t)
	shared := []ai.GenerateOption{
		ai.WithModel(newModel(g, t, all, false)),
		ai.WithTools(newTools(g, t.Tools, all)...),
		ai.WithPrompt(work.Say),
	}
	if t.Messages > 0 {
		shared = append(shared, ai.WithMessages(history(t.Messages)...))
	}
	options := make([][]ai.GenerateOption, len(all))
	for i, l := range all {
		options[i] = shared
		if t.Deltas > 0 {
			options[i] = append(shared[:len(shared):len(shared)], ai.WithStreaming(consumer(l)))
		}
	}
	return &work.Running{
		Send: func(ctx context.Context, i int) error {
			all[i].Begin()
			r, err := genkit.Generate(all.With(ctx, i), g, options[i]...)
			if err != nil {
				return err
			}
			return all[i].End(r.Text())
		},
		Close: func() error { cancel(); return nil },
	}, nil
}

// Why Genkit does not do some of the work.
const (
	NoHooks work.Lack = "Genkit for Go has middleware around the calls of a model (ai.WithMiddleware) and none around those of a tool: " +
		"of a call only the tool's own function is told, and the spans of OpenTelemetry, which go to exporters"
	NoDatabase work.Lack = "Genkit for Go keeps no conversations, the caller hands it the messages with every call: " +
		"the one store that comes with it is in memory and experimental (core/x/session)"
	TooMany = "Genkit has agents if prompts are meant, but 10,000 turns with 64 tools take minutes: with every call of the model " +
		"it encodes all tools and validates them against a schema"
)

// open returns a Genkit. It lasts until ctx is done.
func open(ctx context.Context) (*genkit.Genkit, error) {
	if api.CurrentEnvironment() == api.EnvironmentDev {
		return nil, errors.New("genkit is in its development mode, in which it has a server: unset GENKIT_ENV to measure it")
	}
	g := genkit.Init(ctx)
	// Init takes these signals from the process and never gives them back, so an
	// interrupt would not end the benchmarks.
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	return g, nil
}

// history returns the messages of old.
func history(n int) []*ai.Message {
	out := make([]*ai.Message, n)
	for i := range out {
		person, text := work.Old(i)
		if person {
			out[i] = ai.NewUserTextMessage(text)
		} else {
			out[i] = ai.NewModelTextMessage(text)
		}
	}
	return out
}

// newTools defines n tools.
func newTools(g *genkit.Genkit, n int, all work.Ledgers) []ai.ToolRef {
	find := func(ctx *ai.ToolContext, in work.Input) (work.Answer, error) { return all.In(ctx).Find(in) }
	out := make([]ai.ToolRef, n)
	for i := range out {
		name := work.Tool
		if i > 0 {
			name = work.OtherTool(i)
		}
		out[i] = genkit.DefineTool(g, name, work.About, find)
	}
	return out
}

// consumer consumes a streamed answer.
func consumer(l *work.Ledger) ai.ModelStreamCallback {
	return func(_ context.Context, c *ai.ModelResponseChunk) error {
		l.Delta(c.Text())
		return nil
	}
}
