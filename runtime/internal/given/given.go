// Package given has the tools that the caller of a turn gives it, in addition to those of the
// agent. Tools of the caller run in this process; those of its client run elsewhere, and somebody
// brings their results.
package given

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/schema"
)

// Limits of the tools that one turn is given.
const (
	// MaxTools is their number.
	MaxTools = 128
	// MaxBytes bounds the names, descriptions and schemas of a client's tools together. They
	// are stored with the turn.
	MaxBytes = 256 << 10
	// Timeout is how long a call waits for the client if its tool sets no time, and MaxTimeout
	// the longest time that it may set.
	Timeout    = 5 * time.Minute
	MaxTimeout = 24 * time.Hour
)

// Toolset has the tools of a caller. Every hook.Hook is one; its other methods are not called.
type Toolset interface {
	// Schema is called once a turn.
	Schema() []message.Tool
	// Dispatch is as in hook.Hook. It is called for the names of Schema only.
	Dispatch(ctx context.Context, call *hook.ToolCall) (hook.Invocation, bool)
}

// Set is the tools of one turn. The zero Set has none. It is immutable.
type Set struct {
	tools  []message.Tool
	owners map[string]Toolset
	client []message.Tool
}

// New returns a caller's own tools, which are those of its Schema, and those of its client. ask
// brings the result of a call to the client. The error says which tool is wrong.
func New(caller Toolset, own, client []message.Tool, ask Ask) (Set, error) {
	s := Set{owners: map[string]Toolset{}}
	for _, t := range own {
		if err := s.add(t, caller); err != nil {
			return Set{}, err
		}
	}
	size := 0
	for _, t := range client {
		if size += len(t.Name) + len(t.Description) + len(t.Input); size > MaxBytes {
			return Set{}, fmt.Errorf("the client's tools have more than %d bytes; send fewer, or shorter ones", MaxBytes)
		}
		t, c, err := newClient(t, ask)
		if err == nil {
			err = s.add(t, c)
		}
		if err != nil {
			return Set{}, err
		}
		s.client = append(s.client, t)
	}
	return s, nil
}

func (s *Set) add(t message.Tool, owner Toolset) error {
	switch {
	case len(s.tools) == MaxTools:
		return fmt.Errorf("there are more than %d tools; send fewer", MaxTools)
	case !message.ValidToolName(t.Name):
		return fmt.Errorf("tool %.70q: the name has to match ^[a-zA-Z0-9_-]{1,64}$", t.Name)
	case slices.Contains(strings.Fields(hook.ReservedTools), t.Name):
		return fmt.Errorf("tool %q: the name is reserved; give it another one", t.Name)
	case s.owners[t.Name] != nil:
		return fmt.Errorf("tool %q is given twice; give one of them another name", t.Name)
	case !isObject(t.Input) || !isObject(t.Output):
		return fmt.Errorf("tool %q: its schema is no JSON object", t.Name)
	}
	s.tools, s.owners[t.Name] = append(s.tools, t), owner
	return nil
}

func isObject(text message.JSON) bool {
	return text == "" || text[0] == '{' && json.Valid([]byte(text))
}

// Tools returns all tools: those of the caller, then those of its client.
func (s Set) Tools() []message.Tool { return s.tools }

// Owner returns who binds the calls of a tool; nil if the set does not have it.
func (s Set) Owner(name string) Toolset { return s.owners[name] }

// Client returns the tools of the client.
func (s Set) Client() []message.Tool { return s.client }

// Caller returns the names of the caller's own tools.
func (s Set) Caller() (names []string) {
	for _, t := range s.tools[:len(s.tools)-len(s.client)] {
		names = append(names, t.Name)
	}
	return names
}

// Ask forwards a call to the client and waits for its result. The error is hook.ErrUnanswered, the
// cause of ctx, or says why the call cannot be forwarded.
type Ask func(ctx context.Context, call *hook.ToolCall) (message.ToolResult, error)

// client is the owner of a tool that the client runs.
type client struct {
	tool   message.Tool
	schema *schema.Schema
	ask    Ask
}

var _ Toolset = (*client)(nil)

func newClient(t message.Tool, ask Ask) (message.Tool, *client, error) {
	switch {
	case t.Timeout < 0 || t.Timeout > MaxTimeout:
		return t, nil, fmt.Errorf("tool %.70q: its time is %s; write at most %s, or 0 for %s", t.Name, t.Timeout, MaxTimeout, Timeout)
	case t.Timeout == 0:
		t.Timeout = Timeout
	}
	if t.Input == "" {
		t.Input = `{"type":"object"}`
	}
	t.Waits = true
	// A call has one result, by its id: after a restart it waits again and does not run twice.
	t.Annotations.Idempotent = true
	s, err := schema.Compile(t.Input)
	if err != nil {
		return t, nil, fmt.Errorf("tool %.70q: its schema: %w", t.Name, err)
	}
	return t, &client{t, s, ask}, nil
}

// Schema implements Toolset.
func (c *client) Schema() []message.Tool { return []message.Tool{c.tool} }

// Dispatch implements Toolset.
func (c *client) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	bad := func(where, why string) (hook.Invocation, bool) {
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Path: where, Reason: why, Schema: c.tool.Input}), true
	}
	if wrong := c.schema.Check(string(call.Args())); len(wrong) > 0 {
		return bad(strings.TrimPrefix(strings.ReplaceAll(wrong[0].Place, "/", "."), "."), wrong[0].Want)
	}
	if !isObject(call.Args()) || call.Args() == "" {
		return bad("", "has to be an object")
	}
	return hook.Bound(call.Args(), c), true
}

// Run implements hook.Runner.
func (c *client) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	if env.Attempt > 1 {
		return message.FailedResult(message.FailOperation, "the client runs a call once, and it has run this one")
	}
	r, err := c.ask(ctx, env.Call)
	switch {
	case err == nil:
		r.Trust = message.TrustExternal
		return r
	case errors.Is(err, hook.ErrUnanswered):
		return message.FailedResult(message.FailTimeout, "the client did not answer in time; what it did is not known")
	case ctx.Err() != nil:
		return message.FailedResult(message.FailCancelled, "cancelled before the client answered; what it did is not known")
	}
	return message.FailedResult(message.FailUnreachable, "the client cannot be asked: "+err.Error())
}
