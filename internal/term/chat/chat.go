// Package chat is a conversation with an agent at a terminal: lines in, turns
// out, a few commands of its own, and the questions that come up meanwhile.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/runtime"
)

// ErrFailed says that a turn has failed, or that something was not sent, where
// nobody sat at the terminal to see it.
var ErrFailed = errors.New("chat: not everything worked")

// maxText is the longest message in bytes.
const maxText = 4 << 20

// prompt stands before what a person types.
const prompt = "> "

// Chat is one session at a terminal. It answers for the person where an approver
// asks. Make it with New, then Run.
type Chat struct {
	ed    *edit.Editor
	color bool

	// What follows is set by Run.
	o     Options
	agent *runtime.Agent
	// conv is nil until something is sent.
	conv   *runtime.Conversation
	sender string
	failed bool

	// reading is held by who reads: a question that a turn has left behind ends
	// before the next line is read.
	reading sync.Mutex

	mu sync.Mutex
	// cancel ends what is waited for: a line or a turn.
	cancel context.CancelCauseFunc
	// stopping is told that a turn is being interrupted.
	stopping func()
}

var _ term.Answers = (*Chat)(nil)

// New returns a chat for a person at the editor's terminal.
func New(ed *edit.Editor, color bool) *Chat { return &Chat{ed: ed, color: color} }

// Options of Run. App and Agent are required.
type Options struct {
	App *app.App
	// Agent is whom the conversation is with, at first.
	Agent *runtime.Agent
	// Over is laid above the file of an agent that is resumed.
	Over hook.AgentConfig
	// Sender goes on with the conversation of that sender; "" begins a new one.
	Sender string
	// Paths name the project.
	Paths app.Paths
	// Hooks is which hook runs are shown, those that are at least as visible; "" is
	// those for users. The App has to record them.
	Hooks hook.Visibility
	// History are the lines of earlier times; nil keeps none.
	History *edit.History
}

// Run talks until the person leaves, the input ends or ctx does, which is the
// only error besides ErrFailed.
func (c *Chat) Run(ctx context.Context, o Options) error {
	c.o, c.agent, c.sender = o, o.Agent, o.Sender
	c.greet()
	if c.sender == "" {
		c.renew()
	} else if err := c.goOn(ctx); err != nil {
		return err
	}
	err := c.loop(ctx)
	switch {
	case err != nil:
		return err
	case c.failed && !c.ed.Interactive():
		return ErrFailed
	}
	return nil
}

func (c *Chat) greet() {
	if c.ed.Interactive() {
		c.hint(fmt.Sprintf("%s with %s. /help says what there is.", c.agent.Name(), c.agent.Config().Model.Name))
	}
}

// renew begins a new conversation, as soon as something is sent.
func (c *Chat) renew() { c.conv, c.sender = nil, "chat-"+ulid.Make().String() }

// errLeave ends the loop.
var errLeave = errors.New("chat: leave")

func (c *Chat) loop(ctx context.Context) error {
	again, text := false, ""
	for {
		line, err := c.read(ctx, text)
		text = ""
		switch {
		case errors.Is(err, edit.ErrInterrupt) && !again:
			c.hint("Ctrl-C once more, or Ctrl-D, leaves.")
			again = true
			continue
		case errors.Is(err, edit.ErrInterrupt), errors.Is(err, io.EOF):
			c.farewell()
			return nil
		case err != nil:
			return err
		}
		again = false
		text, err = c.line(ctx, line)
		switch {
		case errors.Is(err, errLeave):
			c.farewell()
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			c.wrong(err)
		}
	}
}

// farewell says how to come back.
func (c *Chat) farewell() {
	if c.conv != nil && c.ed.Interactive() {
		c.hint("/resume " + c.conv.ID() + " goes on with this conversation.")
	}
}

// read reads a line of the conversation; text is there already.
func (c *Chat) read(ctx context.Context, text string) (string, error) {
	ctx, done := c.waiting(ctx, nil)
	defer done()
	c.reading.Lock()
	defer c.reading.Unlock()
	return c.ed.Read(ctx, edit.Line{Prompt: prompt, Text: text, History: c.o.History, Complete: c.complete})
}

// waiting returns a context that Interrupt ends, until done is called.
func (c *Chat) waiting(ctx context.Context, stopping func()) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel, c.stopping = cancel, stopping
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cancel, c.stopping = nil, nil
		cancel(nil)
	}
}

// Interrupt is Ctrl-C: it ends the turn that is running, whose finished parts are
// kept, or the line that is being typed. Safe for concurrent use.
func (c *Chat) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		return
	}
	c.cancel(edit.ErrInterrupt)
	if c.stopping != nil {
		c.stopping()
		c.stopping = nil
	}
}

// Answer asks the person a question, in the middle of a turn or before the first
// one. Ctrl-C interrupts the turn, Ctrl-D declines to answer.
func (c *Chat) Answer(ctx context.Context, question string) (string, error) {
	return c.Edit(ctx, question, "")
}

// Edit is Answer with a text that is there already.
func (c *Chat) Edit(ctx context.Context, question, text string) (string, error) {
	answer, err := c.ask(ctx, edit.Line{Prompt: question, Text: text, Question: true})
	switch {
	case errors.Is(err, io.EOF) && c.ed.Interactive():
		return "", term.ErrDeclined
	case errors.Is(err, edit.ErrInterrupt):
		c.Interrupt()
		return "", context.Canceled
	}
	return answer, err
}

func (c *Chat) ask(ctx context.Context, line edit.Line) (string, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	c.ed.Forget()
	return c.ed.Read(ctx, line)
}

// line does what one line asks for. It returns the text that the person is to go
// on with.
func (c *Chat) line(ctx context.Context, line string) (again string, err error) {
	if strings.TrimSpace(line) == "" {
		return "", nil
	}
	if err := c.o.History.Add(line); err != nil {
		c.wrong(err) // the conversation goes on without
	}
	name, rest, ok := slash(line)
	if !ok {
		return "", c.send(ctx, line)
	}
	if cmd, ok := find(name); ok {
		return "", cmd.run(c, ctx, rest)
	}
	if c.isSkill(name) {
		return "", c.send(ctx, line)
	}
	yes, err := c.confirm(ctx, name)
	switch {
	case err != nil:
		return "", err
	case !yes:
		return line, nil
	}
	return "", c.send(ctx, line)
}

// confirm asks what to do with a line that begins with no command: it is easily
// a slip of the hand, and a model makes something of everything.
func (c *Chat) confirm(ctx context.Context, name string) (bool, error) {
	what := fmt.Sprintf("There is no command and no skill /%s%s", name, c.meant(name))
	if !c.ed.Interactive() {
		return false, errors.New(what + " The line was not sent.")
	}
	c.say(what)
	ctx, done := c.waiting(ctx, nil)
	defer done()
	for {
		answer, err := c.Answer(ctx, "Send it to the agent as it is? [y]es, [n]o: ")
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, edit.ErrInterrupt), errors.Is(err, term.ErrDeclined):
			return false, nil
		case err != nil:
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// send runs a turn and shows it.
func (c *Chat) send(ctx context.Context, text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("the message is longer than %d bytes; put the text into a file and tell the agent to read it", maxText)
	case !utf8.ValidString(text):
		return errors.New("the message is no UTF-8 text; it was not sent")
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	return c.turn(ctx, func(ctx context.Context, o *runtime.TurnOptions) (*runtime.Turn, error) {
		return c.o.App.Start(ctx, c.conv, message.TextInput(text), o)
	})
}

// turn runs a turn and shows it. The error is why none began.
func (c *Chat) turn(ctx context.Context, start func(context.Context, *runtime.TurnOptions) (*runtime.Turn, error)) error {
	p := c.printer()
	ctx, done := c.waiting(ctx, func() { p.Hint("  · stopping; what has finished is kept") })
	defer done()
	turn, err := start(ctx, &runtime.TurnOptions{Observe: p.OnEvent})
	if err != nil && !errors.Is(err, edit.ErrInterrupt) {
		return err
	}
	out := hook.TurnOutcome{Stop: hook.StopCancelled, Err: err}
	if err == nil {
		out = c.o.App.Wait(ctx, turn)
	}
	p.Outcome(out)
	if c.ed.Interactive() {
		c.say("")
	}
	c.failed = c.failed || term.Cause(out) != ""
	return nil
}

// open opens the conversation, which makes it if it is new.
func (c *Chat) open(ctx context.Context) (err error) {
	if c.conv == nil {
		c.conv, err = c.agent.Conversation(ctx, c.sender)
	}
	return err
}

func (c *Chat) printer() *term.Printer {
	return term.NewPrinter(c.ed, c.color).ForScreen(c.ed.Columns).ShowHooks(c.o.Hooks)
}

// say writes a line of the chat's own; hint one that may be overlooked.
func (c *Chat) say(text string) { c.printer().Note(text) }

func (c *Chat) hint(text string) { c.printer().Hint(text) }

func (c *Chat) wrong(err error) {
	c.failed = true
	c.printer().Wrong(err.Error())
}
