// Package demo is the demonstration: a scripted model solves a task over the generated
// composite, and every subsystem does real work. It needs no key and no network.
package demo

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/runtime"
)

// Options of Run.
type Options struct {
	// Dir is the demo's directory: an empty one, or that of an earlier demo. "" makes a
	// temporary directory and keeps it.
	Dir string
	// Getenv looks up the state directory, as for all commands.
	Getenv func(string) string
	// Executable is this program; the demo starts it again as MCP server.
	Executable string
	Out        io.Writer
	JSON       bool
	Color      bool
	// Hooks: hook runs are recorded.
	Hooks bool
}

// agentName is the agent of the demo, and mateName the agent that it runs.
const (
	agentName = "skipper"
	mateName  = "mate"
)

// memoryName is the memory that the demo stores, and that a later demo recalls.
const memoryName = "last voyage"

// prompts are the messages of the demo's user. The second is long: with the first turn it does
// not fit into the model's window. The third is said in a conversation of its own, which knows
// nothing of the first.
// The fourth, in another one, is answered with what somebody has slipped into the notices.
var prompts = []string{"Write the summary of our voyage from the log, in the form that the skill asks for.", harbour, question, weekly}

const weekly = "What do the notices to mariners say?"

const question = "How long was our last voyage?"

//go:embed report.txt
var harbour string

// Run runs the demo, shows it, and returns where it did. An error means that it could not begin, or that the turn
// did not end regularly.
func Run(ctx context.Context, o Options) (app.Paths, error) {
	paths, err := prepare(o)
	if err != nil {
		return paths, err
	}
	answerer := &answers{}
	program := app.Options{
		Paths: paths, Inquire: answerer.inquire,
		Note:        func(string) {},
		Trust:       Trust,
		RecordHooks: o.Hooks,
	}
	return paths, app.With(ctx, program, func(opened *app.App) error { return play(ctx, o, opened, paths, answerer) })
}

// Trust allows what the demo has laid into its directory, once.
func Trust(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil }

// prepare makes the two directories: the project, and the state of all demos.
func prepare(o Options) (app.Paths, error) {
	dir := o.Dir
	if dir == "" {
		made, err := os.MkdirTemp("", "grapnel-demo-")
		if err != nil {
			return app.Paths{}, fmt.Errorf("make a temporary directory: %w; name another one with --dir", reason(err))
		}
		dir = made
	}
	if err := lay(dir, o.Executable); err != nil {
		return app.Paths{}, err
	}
	paths, err := app.FindPaths(dir, o.Getenv)
	if err != nil {
		return app.Paths{}, err
	}
	return paths.In("demo")
}

func play(ctx context.Context, o Options, opened *app.App, paths app.Paths, a *answers) error {
	agent, err := opened.Register(ctx, agentName, hook.AgentConfig{})
	if err != nil {
		return err
	}
	id := "demo-" + ulid.Make().String()
	voyage, err := agent.Conversation(ctx, id)
	if err != nil {
		return err
	}
	later, err := agent.Conversation(ctx, id+"-later")
	if err != nil {
		return err
	}
	last, err := agent.Conversation(ctx, id+"-notices")
	if err != nil {
		return err
	}
	r := newReport(paths, func() ([]message.Message, error) { return opened.Store.Messages(ctx, voyage.ID()) })
	out, err := show(ctx, o, []*runtime.Conversation{voyage, voyage, later, last}, r)
	if err != nil {
		return err
	}
	r.asked(a.counts())
	if o.JSON {
		return r.writeJSON(o.Out, out)
	}
	return r.writeText(o.Out)
}

// show plays the turns, each in its conversation, until one fails, and returns the outcome of the last.
func show(ctx context.Context, o Options, convs []*runtime.Conversation, r *report) (out hook.TurnOutcome, err error) {
	if o.JSON {
		p := term.NewJSONPrinter(o.Out)
		for i, text := range prompts {
			out, err = convs[i].Send(ctx, message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) { p.OnEvent(ev); r.onEvent(ev) }})
			if err = errors.Join(cmp.Or(err, out.Err), p.Err()); err != nil {
				break
			}
		}
		return out, err
	}
	p := term.NewPrinter(o.Out, o.Color)
	note := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			p.Note(line)
		}
	}
	note(intro)
	for i, text := range prompts {
		if i > 0 && convs[i] != convs[i-1] {
			note("A new conversation.\n")
		}
		note("> " + shortened(text) + "\n")
		out, err = convs[i].Send(ctx, message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) {
			p.OnEvent(ev)
			if said := r.onEvent(ev); said != "" {
				p.Note(said)
			}
		}})
		p.Outcome(out)
		if err = errors.Join(cmp.Or(err, out.Err), p.Err()); err != nil {
			break
		}
	}
	return out, err
}

// shortened returns the first line of a message, and how many follow.
func shortened(text string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		first += fmt.Sprintf("\n  [%d more lines]", strings.Count(rest, "\n")+1)
	}
	return first
}

const intro = `A scripted model, real tools: no key, no network. The agent has a log of three days, a skill, a memory and
an MCP server, which is this program started again. Commands run in a sandbox, and those that stay in it are not asked
about. Where a person would be asked, the demo answers itself: yes to summary.md, to its memory and to that server
(and to the script of the skill, where the machine has no sandbox), no to everything else, and to a question its first
option. The model is busy once, and its window is too small for what is said in the end. At last somebody
has slipped an order into what the server returns, and the model obeys it.
`
