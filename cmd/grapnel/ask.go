package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/client"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

type askFlags struct {
	place
	socket, agent, sender, whenBusy string
	yes                             bool
	hooks                           hook.Visibility
}

func (c *command) ask() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   `ask "prompt"`,
		Short: "Give an agent of the running daemon a task",
		Long: "Runs one turn of an agent of the daemon that `grapnel serve` has started for the project in the working directory,\n" +
			"or of the one on --socket, and shows it as it happens.\n" +
			"What needs approval is asked here. The prompt is the argument, or standard input if the argument is -.",
		Example: "  grapnel ask --sender me \"What is in this directory?\"",
		Args:    onePrompt,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := c.prompt(args[0])
			if err != nil {
				return err
			}
			d, err := c.daemonHere(cmd.Context(), f.socket, f.hooks)
			if err != nil {
				return err
			}
			return c.askDaemon(cmd.Context(), d, f, args[0] == "-", prompt)
		},
	}
	socketFlag(cmd, &f.socket)
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, for programs")
	cmd.Flags().StringVar(&f.agent, "agent", daemon.DefaultAgent, "the agent to ask; the daemon knows those of its project")
	cmd.Flags().StringVar(&f.sender, "sender", "", "go on with the conversation of this sender (default: a new one)")
	cmd.Flags().StringVar(&f.whenBusy, "when-busy", "", "while a turn of the conversation is running: refuse, queue behind it, or steer it (default refuse)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call without asking")
	hooksFlag(cmd, &f.hooks, "show hook runs, if the daemon records them (grapnel serve --hooks)")
	return cmd
}

// client returns a client of the daemon on the socket, "" for the default one, that
// sees hook runs that are as visible as hooks.
func (c *command) client(socket string, hooks hook.Visibility) (*client.Client, error) {
	paths, err := c.paths(place{})
	if err != nil {
		return nil, err
	}
	path, err := c.socketPath(socket, paths)
	if err != nil {
		return nil, err
	}
	o := &client.Options{Hooks: hooks, Named: socket != ""}
	if socket != "" {
		o.Start = "grapnel serve --socket " + path
	}
	return client.New(path, o), nil
}

// daemonHere is client for the daemon of the project in the working directory: the one
// on the default socket may work in another, with its files, rules and conversations.
// Who names a socket has chosen.
func (c *command) daemonHere(ctx context.Context, socket string, hooks hook.Visibility) (*client.Client, error) {
	d, err := c.client(socket, hooks)
	if err != nil || socket != "" {
		return d, err
	}
	health, err := d.Health(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := c.paths(place{})
	if err != nil {
		return nil, err
	}
	if other := foreign(health, paths); other != "" {
		return nil, fmt.Errorf("the running daemon is not that of %s: %s; go there, start one for this project with `grapnel serve --socket PATH`, "+
			"or choose one with --socket", paths.Root, other)
	}
	return d, nil
}

// foreign says why the daemon is not that of the paths; "" if it is.
func foreign(health wire.Health, paths daemon.Paths) string {
	switch {
	case health.Root != paths.Root:
		return "it works in " + health.Root
	case health.State != paths.State:
		return "its databases are in " + health.State
	}
	return ""
}

// lookTime is how long a daemon may take to say what it is before a command goes
// on without it.
const lookTime = 2 * time.Second

// onDaemon runs the turn on the daemon of the same project, if there is one that
// can: a model that was named is only this process's. It says where the turn runs
// if there is a choice, and done if that is not here.
func (c *command) onDaemon(ctx context.Context, f runFlags, paths daemon.Paths, stdinUsed bool, prompt string) (done bool, err error) {
	d := client.New(api.DefaultSocket(paths.State, c.getenv), &client.Options{Hooks: f.hooks})
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	health, err := d.Health(look)
	if err != nil {
		if errors.Is(err, client.ErrUntrusted) {
			c.remark("in this process: " + err.Error())
		}
		return false, nil // there is none, or none that one could talk to
	}
	here := ""
	switch _, err := d.Agent(look, f.agent); {
	case !f.set.Empty():
		here = "--set is for this command alone"
	case f.reply != (daemon.ReplyLimits{}):
		here = "--max-text and --max-arguments are for this command alone"
	case f.model != "":
		here = "it has models of its own"
	case foreign(health, paths) != "":
		here = foreign(health, paths)
	case health.Status != wire.StatusOK:
		here = "it is ending"
	case err != nil:
		here = "it has no agent " + f.agent
	case f.hooks != "" && !health.Hooks:
		here = "it does not record hook runs, which grapnel serve --hooks does"
	}
	if here != "" {
		c.remark("in this process, not on the daemon: " + here)
		return false, nil
	}
	c.remark("on the daemon of this project, " + d.Socket())
	return true, c.askDaemon(ctx, d, askFlags{place: f.place, agent: f.agent, sender: f.sender, yes: f.yes, hooks: f.hooks}, stdinUsed, prompt)
}

// remark tells the person something that matters little.
func (c *command) remark(text string) {
	t := screen.Format("· %s", screen.Rows(text))
	if term.Colored(c.err) {
		t = screen.Paint(screen.Dim, t)
	}
	_ = screen.New(c.err).Print(screen.Format("%s\n", t)) // it matters little
}

// askDaemon runs one turn on the daemon.
func (c *command) askDaemon(ctx context.Context, d *client.Client, f askFlags, stdinUsed bool, prompt string) error {
	health, err := d.Health(ctx)
	if err != nil {
		return err
	}
	if f.hooks != "" && !health.Hooks {
		c.note("the daemon does not record hook runs; start it with grapnel serve --hooks")
	}
	conv, err := d.Conversation(ctx, f.agent, f.sender)
	if err != nil {
		return err
	}
	turn, err := d.SendWhenBusy(ctx, conv.ID, prompt, wire.Busy(f.whenBusy))
	if err != nil {
		return err
	}
	return c.attend(ctx, d, turn, f, health.Root, stdinUsed)
}

// attend shows a turn of the daemon to its end, and puts its questions. An
// interrupt cancels the turn, and how it ended is shown all the same.
func (c *command) attend(ctx context.Context, d *client.Client, turn wire.Turn, f askFlags, root string, stdinUsed bool) error {
	lasting := context.WithoutCancel(ctx)
	defer context.AfterFunc(ctx, func() {
		_, _ = d.Cancel(lasting, turn.Conversation) // if the daemon is gone, so is the stream, which says so
	})()
	conv, err := d.ConversationByID(ctx, turn.Conversation)
	if err != nil {
		return err
	}
	show, gate := c.shower(f.json, f.hooks)
	asker := &asker{
		d: d, approver: c.approverIn(root, f.yes, stdinUsed, gate), conversation: conv.ID, asking: map[asked]*question{},
	}
	defer asker.end(asked{})
	asker.pending(ctx, asked{}) // of a turn that is running already
	var seen outcome
	for item, err := range d.Follow(lasting, turn) {
		if err != nil {
			return &failed{exitFailed, fmt.Errorf("the turn cannot be followed: %w", err)}
		}
		if item.Missed > 0 || item.Restarted {
			if !item.Kept {
				c.note(fmt.Sprintf("%d events were missed", item.Missed))
			}
			asker.pending(ctx, asked{})
			continue
		}
		seen.add(item.Event)
		show.OnEvent(item.Event)
		asker.observe(ctx, item.Event)
	}
	if seen.omitted {
		if err := seen.complete(lasting, d, conv.ID); err != nil {
			c.note("the end of the answer is not whole: " + err.Error())
		}
	}
	show.Outcome(seen.out)
	return verdict(seen.out)
}

// outcome puts together how a turn ended from its events.
type outcome struct {
	out     hook.TurnOutcome
	started time.Time
	failed  string
	// omitted: the event of its end has a part of the answer only.
	omitted bool
}

var errCancelled = errors.New("cancelled")

func (o *outcome) add(ev hook.Event) {
	if ev.Depth > 0 { // a turn that this one runs
		return
	}
	if o.started.IsZero() { // a turn that is gone on with does not start again
		o.started = ev.Time
	}
	d := ev.Detail()
	switch ev.Kind {
	case event.StepStart:
		o.out.Steps = ev.Step
	case event.CallsBegin:
		o.out.Calls += d.Tools.Len()
	case event.Error:
		o.failed = ev.Text
	case event.TurnEnd:
		o.out.Stop, o.out.Usage, o.out.Duration = d.Stop, d.Usage, ev.Time.Sub(o.started)
		o.omitted = ev.Omitted > 0
		if ev.Text != "" {
			o.out.Message = message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(ev.Text))}
		}
		switch d.Stop {
		case hook.StopError:
			o.out.Err = errors.New(o.failed)
		case hook.StopCancelled:
			o.out.Err = errCancelled
		}
	}
}

// complete reads the answer from the conversation: the newest message that begins
// like it.
func (o *outcome) complete(ctx context.Context, d *client.Client, conversation string) error {
	messages, err := d.Messages(ctx, conversation)
	if err != nil {
		return err
	}
	begins, _, _ := strings.Cut(o.out.Text(), "\n[… ")
	for _, m := range slices.Backward(messages) {
		if m.Role == message.RoleAssistant && strings.HasPrefix(m.Text(), begins) {
			o.out.Message = m
			return nil
		}
	}
	return errors.New("the conversation does not have it any more")
}

// asker puts the asks of one conversation to the person at the terminal.
type asker struct {
	d            *client.Client
	approver     *term.Approver
	conversation string
	// asking are the questions under way.
	asking map[asked]*question
}

// asked is the call that a question is about, as ids of calls are unique within a
// turn, or an inquiry.
type asked struct{ turn, call, inquiry string }

// question is one ask that the person is thinking about.
type question struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// observe asks when an event says that somebody has to, and takes the question
// back when it has its answer from elsewhere.
func (a *asker) observe(ctx context.Context, ev hook.Event) {
	switch ev.Kind {
	case event.ApprovalAsked:
		a.pending(ctx, asked{turn: ev.Turn, call: ev.Detail().CallID})
	case event.ApprovalGiven:
		a.end(asked{turn: ev.Turn, call: ev.Detail().CallID})
	case event.QuestionAsked:
		a.inquire(ctx, ev.Agent, ev.Detail().Inquiry)
	case event.QuestionGiven:
		a.end(asked{inquiry: ev.Detail().Inquiry.ID})
	}
}

// pending asks about the call, the zero asked for every one that waits.
func (a *asker) pending(ctx context.Context, about asked) {
	if about == (asked{}) {
		inquiries, err := a.d.Inquiries(ctx, a.conversation)
		if err != nil {
			return // the stream says what became of the daemon
		}
		for _, q := range inquiries {
			a.inquire(ctx, q.Agent, hook.Inquiry{ID: q.ID, Questions: q.Questions})
		}
	}
	asks, err := a.d.Asks(ctx, a.conversation)
	if err != nil {
		return
	}
	for _, ask := range asks {
		key := asked{turn: ask.Turn, call: ask.CallID}
		if a.asking[key] == nil && (about == asked{} || key == about) {
			a.ask(ctx, key, ask)
		}
	}
}

// begin runs put until it returns or the question is taken back.
func (a *asker) begin(ctx context.Context, key asked, put func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	q := &question{cancel: cancel, done: make(chan struct{})}
	a.asking[key] = q
	go func() {
		defer close(q.done)
		put(ctx)
	}()
}

func (a *asker) inquire(ctx context.Context, agent string, q hook.Inquiry) {
	key := asked{inquiry: q.ID}
	if a.asking[key] != nil {
		return
	}
	a.begin(ctx, key, func(ctx context.Context) {
		r, by, ok := a.answer(ctx, term.Request{Agent: agent, Inquiry: q})
		if ok {
			_ = a.d.Reply(ctx, q.ID, wire.Reply{Conversation: a.conversation, By: by, Given: wire.GivenOf(r)}) // too late is no error
		}
	})
}

func (a *asker) ask(ctx context.Context, key asked, ask wire.Ask) {
	a.begin(ctx, key, func(ctx context.Context) {
		r, by, ok := a.answer(ctx, requestOf(ask))
		if !ok {
			return
		}
		reply := r.Approval
		_ = a.d.Answer(ctx, ask.ID, wire.Answer{ // one that comes too late is no error: the stream shows what holds
			Answer: wire.AnswerKind(reply.Answer), Args: reply.Args, Reason: reply.Reason, Remember: reply.Remember, By: by,
		})
	})
}

// answer asks the person; ok is false if the request was answered elsewhere, or the
// turn is being cancelled.
func (a *asker) answer(ctx context.Context, r term.Request) (answer hook.Response, by string, ok bool) {
	answer, by, err := a.approver.Inquire(ctx, r)
	if err != nil {
		answer, by = term.Unasked(r.Inquiry), term.ByNobody
	}
	return answer, by, ctx.Err() == nil
}

// requestOf is the ask as the person at the terminal gets it.
func requestOf(ask wire.Ask) term.Request {
	offers := make([]hook.Offer, len(ask.Offers))
	for i, o := range ask.Offers {
		offers[i] = hook.Offer(o)
	}
	return term.Request{Agent: ask.Agent, Depth: ask.Depth, Expires: ask.Expires, Inquiry: hook.Inquiry{
		ID: ask.ID, Approval: &hook.ApprovalRequest{
			CallID: ask.CallID, Tool: ask.Tool, Args: ask.Args, Reason: ask.Reason, ApprovedOnTimeout: ask.ApprovedOnTimeout,
			Offers: message.Freeze(offers),
		},
	}}
}

// end takes the question about the call back, the zero asked all of them.
func (a *asker) end(about asked) {
	for key, q := range a.asking {
		if about == (asked{}) || key == about {
			q.cancel()
			<-q.done
			delete(a.asking, key)
		}
	}
}
