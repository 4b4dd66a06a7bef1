package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/runtime"
)

// modelFlags say which model answers instead of the agent's, and how.
type modelFlags struct {
	name        string
	reasoning   reasoningFlag
	temperature temperatureFlag
	maxTokens   maxTokensFlag
}

func (f *modelFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "model", "", "the model to use instead of the agent's: VENDOR:NAME, a NAME that only one vendor has, or script:FILE")
	cmd.Flags().Var(&f.reasoning, "reasoning", "how much the model may think: off, low, medium, high, or a number of tokens")
	cmd.Flags().Var(&f.temperature, "temperature", "how freely the model chooses its words, from 0 on")
	cmd.Flags().Var(&f.maxTokens, "max-tokens", "the longest answer of the model, in tokens")
}

// model returns the model of the flags.
func (f *modelFlags) model() message.Model {
	return message.Model{
		Name: app.AbsoluteModel(f.name), Reasoning: message.Reasoning(f.reasoning), Temperature: f.temperature.Optional,
		MaxTokens: int(f.maxTokens),
	}
}

// reasoningFlag is a flag with how much a model may think.
type reasoningFlag message.Reasoning

// String implements pflag.Value.
func (r *reasoningFlag) String() string {
	if r.Budget > 0 {
		return strconv.Itoa(r.Budget)
	}
	return string(r.Effort)
}

// Type implements pflag.Value.
func (r *reasoningFlag) Type() string { return "effort" }

// Set implements pflag.Value.
func (r *reasoningFlag) Set(text string) error {
	parsed, err := agentfile.ParseReasoning(text)
	*r = reasoningFlag(parsed)
	return err
}

// temperatureFlag is a flag with a number from 0 on.
type temperatureFlag struct{ message.Optional[float64] }

// String implements pflag.Value.
func (t *temperatureFlag) String() string {
	if !t.Optional.Set {
		return ""
	}
	return strconv.FormatFloat(t.Value, 'g', -1, 64)
}

// Type implements pflag.Value.
func (t *temperatureFlag) Type() string { return "number" }

// Set implements pflag.Value.
func (t *temperatureFlag) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= math.MaxFloat32) { // NaN is neither
		return errors.New("write a number from 0 on, such as 0.2")
	}
	t.Optional = message.Some(n)
	return nil
}

// maxTokensFlag is a flag with a number of tokens.
type maxTokensFlag int

// String implements pflag.Value.
func (m *maxTokensFlag) String() string {
	if *m == 0 {
		return ""
	}
	return strconv.Itoa(int(*m))
}

// Type implements pflag.Value.
func (m *maxTokensFlag) Type() string { return "tokens" }

// Set implements pflag.Value.
func (m *maxTokensFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return errors.New("write a number of tokens such as 4096")
	}
	*m = maxTokensFlag(n)
	return nil
}

// register registers the agent with the overriding configuration, and checks its model. Without
// a model it offers one of a server on this machine, and otherwise says what to do.
func (c *command) register(ctx context.Context, opened *app.App, name string, over hook.AgentConfig, ask *term.Approver) (*runtime.Agent, hook.AgentConfig, error) {
	agent, err := opened.Register(ctx, name, over)
	if err != nil {
		return nil, over, err
	}
	err = opened.CheckModel(agent.Config())
	if !errors.Is(err, models.ErrNone) {
		return agent, over, err
	}
	id, err := c.offer(ctx, opened, err, ask)
	if err != nil {
		return nil, over, err
	}
	if err := opened.Runtime.Unregister(ctx, name); err != nil {
		return nil, over, err
	}
	over.Model.Name = id
	agent, err = opened.Register(ctx, name, over)
	return agent, over, err
}

// offer looks for model servers on this machine and asks the person whether to use one. none is
// the error of the missing model. Without a server or a person the error names the ways forward.
func (c *command) offer(ctx context.Context, opened *app.App, none error, ask *term.Approver) (id string, err error) {
	found := models.FindLocal(ctx, c.ports())
	if ask.Attended() {
		for _, l := range found {
			id := l.Vendor + ":" + l.Models[0]
			ok, err := ask.Confirm(ctx, fmt.Sprintf("No model is configured, but %s answers at %s with %s.", l.Title, l.Address, strings.Join(l.Models, ", ")), "Use "+id+" this time?")
			if err != nil {
				return "", err
			}
			if ok {
				return id, nil
			}
		}
	}
	return "", &noModel{none, opened.Vendors(), found}
}

// noModel is the error of a missing model, with the ways forward.
type noModel struct {
	err     error
	vendors []models.Keyed
	found   []models.Local
}

func (e *noModel) Unwrap() error { return e.err }

// Error names three ways in three lines, and then the servers that were found.
func (e *noModel) Error() string {
	where, _, _ := strings.Cut(e.err.Error(), models.ErrNone.Error()) // an agent's file may be named before it
	lines := []string{where + models.ErrNone.Error() + "; there are three ways forward:", "  " + e.key(), "  " + e.server(),
		"  no model at all: see it work with `grapnel demo`, or write the answers yourself: --model script:FILE"}
	for _, l := range e.found {
		lines = append(lines, fmt.Sprintf("%s answers at %s:", l.Title, l.Address))
		for _, name := range l.Models {
			lines = append(lines, fmt.Sprintf("  grapnel chat --model %s:%s", l.Vendor, name))
		}
	}
	return strings.Join(lines, "\n")
}

// key is the way with a key of a vendor.
func (e *noModel) key() string {
	i := slices.IndexFunc(e.vendors, func(v models.Keyed) bool { return v.Present })
	if i >= 0 {
		return fmt.Sprintf("a key: %s has one; name a model with --model %s:NAME, or `model:` in ~/.grapnel/config.yaml", e.vendors[i].Title, e.vendors[i].Vendor)
	}
	var names []string
	for _, v := range e.vendors {
		names = append(names, fmt.Sprintf("%s (%s)", v.Variable, v.Title))
	}
	return "a key: set " + strings.Join(names, ", ") + " and name a model with --model VENDOR:NAME"
}

// server is the way with a server on this machine.
func (e *noModel) server() string {
	if len(e.found) > 0 {
		return "a server on this machine: one is there, see below"
	}
	return "a server on this machine: start Ollama, llama.cpp, LM Studio or vLLM, then for example --model ollama:NAME"
}
