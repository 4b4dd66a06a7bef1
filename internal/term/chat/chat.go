// Package chat runs a conversation with an agent at a terminal. It reads lines, shows turns,
// has a few commands of its own, and asks the questions of agents.
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/attach"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/term/talk"
)

// ErrFailed: a turn failed, or a line was not sent, and nobody was at the terminal to see it.
var ErrFailed = errors.New("chat: a turn failed or a line was not sent")

// maxText is the longest message in bytes.
const maxText = 4 << 20

// prompt precedes the lines that a person types.
const prompt = "> "

// Chat is one session at a terminal. It also puts requests for approval to the person. Make
// it with New, then Run.
type Chat struct {
	ed    *edit.Editor
	color bool

	// Run sets these fields.
	o     Options
	agent talk.Agent
	// conv is nil until the first message.
	conv   talk.Conversation
	sender string
	failed bool
	// model is the id of the model that /model has chosen; "" is the agent's.
	model string

	// reading is held while a line is read: a question of an ended turn ends before the
	// next line is read.
	reading sync.Mutex

	mu sync.Mutex
	// cancel interrupts the line that is read or the turn that runs; nil if there is none.
	cancel context.CancelCauseFunc
	// stopping is called once when a turn is interrupted.
	stopping func()
}

var _ term.Answers = (*Chat)(nil)

// New returns a chat for a person at the editor's terminal.
func New(ed *edit.Editor, color bool) *Chat { return &Chat{ed: ed, color: color} }

// Options of Run. Host and Agent are required.
type Options struct {
	// Host runs the conversations.
	Host talk.Host
	// Agent is the name of the agent of the first conversation.
	Agent string
	// Sender continues the conversation of that sender; "" begins a new one.
	Sender string
	// Root is the directory of the files that a message mentions as @path.
	Root string
	// Mask masks the lines that are kept; nil masks nothing.
	Mask func(text string) string
	// Hooks is the least visibility of the hook runs that are shown; "" is those for users.
	// The host must record them.
	Hooks hook.Visibility
	// History has the lines of earlier sessions; nil keeps none.
	History *edit.History
}

// Run runs the session until the person leaves, the input ends or ctx ends. The error is
// ErrFailed, the cause of ctx, or that of the terminal or the store.
func (c *Chat) Run(ctx context.Context, o Options) error {
	agent, err := o.Host.Agent(ctx, o.Agent)
	if err != nil {
		return err
	}
	c.o, c.agent, c.sender = o, agent, o.Sender
	c.greet()
	if c.sender == "" {
		c.renew()
	} else if err := c.enter(ctx); err != nil {
		return err
	}
	err = c.loop(ctx)
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
		c.hint(fmt.Sprintf("%s with %s. /help lists the commands.", c.agent.Name, cmp.Or(c.agent.Model, "the daemon's model")))
	}
}

// renew begins a new conversation, which is stored at its first message.
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

// farewell shows how to resume the conversation.
func (c *Chat) farewell() {
	if c.conv != nil && c.ed.Interactive() {
		c.hint("/resume " + c.conv.ID() + " continues this conversation.")
	}
}

// read reads a line of the conversation, which begins with text.
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

// Interrupt handles Ctrl-C: it cancels the running turn, whose finished parts are kept, or
// the line that is being typed. It is safe for concurrent use.
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

// Edit is Answer with a text to edit.
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

// line runs the command in the line, or sends the line. It returns the text to begin the
// next line with.
func (c *Chat) line(ctx context.Context, line string) (again string, err error) {
	if strings.TrimSpace(line) == "" {
		return "", nil
	}
	kept := line
	if c.o.Mask != nil {
		kept = c.o.Mask(line)
	}
	if err := c.o.History.Add(kept); err != nil {
		c.wrong(err) // the conversation continues without a history
	}
	name, rest, ok := slash(line)
	if !ok {
		return "", c.send(ctx, line, "")
	}
	if cmd, ok := find(name); ok {
		return "", cmd.run(c, ctx, rest)
	}
	if slices.ContainsFunc(c.commands(), func(k talk.Command) bool { return k.Name == name }) {
		return "", c.send(ctx, line, "")
	}
	yes, err := c.confirm(ctx, name)
	switch {
	case err != nil:
		return "", err
	case !yes:
		return line, nil
	}
	return "", c.send(ctx, line, "")
}

// confirm asks whether to send a line that begins like a command: it may be a slip, and a
// model would answer it anyway.
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

// send runs a turn and shows it. The guest answers; "" is the conversation's own agent.
func (c *Chat) send(ctx context.Context, text, guest string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("the message is longer than %d bytes; put the text into a file and tell the agent to read it", maxText)
	case !utf8.ValidString(text):
		return errors.New("the message is not UTF-8 text and was not sent; convert it to UTF-8")
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	files, paths, err := attach.Mentioned(c.o.Root, text)
	if err != nil {
		return err
	}
	if len(paths) > 0 {
		c.say("  · with " + strings.Join(paths, ", "))
	}
	return c.turn(ctx, func(ctx context.Context, observe func(hook.Event)) (hook.TurnOutcome, error) {
		return c.conv.Send(ctx, talk.Message{Text: text, Files: files, Guest: guest, Model: c.model}, observe)
	})
}

// turn runs a turn and shows it. The error says why no turn began.
func (c *Chat) turn(ctx context.Context, run func(ctx context.Context, observe func(hook.Event)) (hook.TurnOutcome, error)) error {
	p := c.printer()
	ctx, done := c.waiting(ctx, func() { p.Hint("  · stopping; what has finished is kept") })
	defer done()
	out, err := run(ctx, p.OnEvent)
	if err != nil {
		return err
	}
	p.Outcome(out)
	if c.ed.Interactive() {
		c.say("")
	}
	c.failed = c.failed || term.Cause(out) != ""
	return nil
}

// open opens the conversation. The store creates it if it is new.
func (c *Chat) open(ctx context.Context) error {
	if c.conv != nil {
		return nil
	}
	opened, err := c.o.Host.Open(ctx, c.agent.Name, c.sender)
	if err != nil {
		return err
	}
	c.conv = opened.Conversation
	return nil
}

// Note shows a sentence of the host. It is safe for concurrent use.
func (c *Chat) Note(text string) { c.hint("  · " + text) }

func (c *Chat) printer() *term.Printer {
	return term.NewPrinter(c.ed, c.color).ForScreen(c.ed.Columns).ShowHooks(c.o.Hooks)
}

// say writes a line of the chat, and hint a less prominent one.
func (c *Chat) say(text string) { c.printer().Note(text) }

func (c *Chat) hint(text string) { c.printer().Hint(text) }

func (c *Chat) wrong(err error) {
	c.failed = true
	c.printer().Wrong(err.Error())
}
