package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

type invocation struct {
	t    *tool
	args message.JSON
}

// Run calls the tool, and starts its server first if necessary. It does not retry a call
// without an answer, because that call may have had an effect.
func (c *invocation) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	g := env.Grant
	if g.Void || g.ReadOnly || g.NoNetwork || g.Root != "" {
		return message.FailedResult(message.FailDenied, c.t.Name+
			" runs on an MCP server, which cannot be kept within the limits that this call was given")
	}
	limit := c.t.Timeout
	if g.Timeout > 0 {
		limit = min(limit, g.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := c.t.server
	res, err := c.call(ctx, env.Progress)
	if errors.Is(err, conn.ErrSession) { // the call was not made
		res, err = c.call(ctx, env.Progress)
	}
	var answered *jsonrpc.Error
	var rejected *conn.RejectedError
	var withheld *unusableError
	switch {
	case err == nil:
		return result(res, outputMost(s.m.o.MaxOutput, g.MaxOutput))
	case errors.As(err, &withheld):
		return message.FailedResult(message.FailNotAvailable, c.t.Name+": "+withheld.reason)
	case errors.Is(err, errUnconnected):
		return c.unanswered(ctx, "the server "+s.cfg.Name+" cannot be reached")
	case errors.As(err, &rejected):
		return c.rejected(rejected)
	case errors.As(err, &answered):
		r := message.FailedResult(message.FailOperation, conn.Clip(answered.Message, s.m.o.MaxOutput))
		r.Trust = message.TrustExternal
		return r
	}
	return c.unanswered(ctx, "the server "+s.cfg.Name+
		" was lost during the call; whether the call had an effect is not known")
}

// errUnconnected is the error of a call for which there was no connection.
var errUnconnected = errors.New("not connected")

type unusableError struct{ reason string }

func (e *unusableError) Error() string { return e.reason }

// call connects if necessary and makes the call once.
func (c *invocation) call(ctx context.Context, progress func(string)) (*sdk.CallToolResult, error) {
	lease, err := c.t.server.end.Acquire(ctx)
	if err != nil {
		return nil, errUnconnected
	}
	defer lease.Release()
	// After the start the server may list other tools.
	if reason := c.t.server.unusable(c.t.Name); reason != "" {
		return nil, &unusableError{reason}
	}
	return lease.Call(ctx, &sdk.CallToolParams{Name: c.t.remote, Arguments: json.RawMessage(c.args)}, progress)
}

// rejected is the result of a call that the endpoint rejected.
func (c *invocation) rejected(r *conn.RejectedError) message.ToolResult {
	text := "the server " + c.t.server.cfg.Name + " did not take the call: " + r.Error()
	if r.Away() {
		return message.FailedResult(message.FailUnreachable, text)
	}
	return message.FailedResult(message.FailOperation, text)
}

// unanswered is the result of a call without an answer. It leaves out the cause, which may
// quote the server. Status and the event of the loss have it.
func (c *invocation) unanswered(ctx context.Context, lost string) message.ToolResult {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return message.FailedResult(message.FailTimeout, c.t.Name+" did not answer in time")
	case ctx.Err() != nil:
		return message.FailedResult(message.FailCancelled, "the call of "+c.t.Name+" was cancelled")
	}
	return message.FailedResult(message.FailUnreachable, lost)
}

func (s *server) unusable(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.shown.byName[name]
	if t == nil {
		return reasonGone
	}
	return t.unusable
}

// outputMost returns the smaller limit of the subsystem and the grant.
func outputMost(own, granted int) int {
	if granted > 0 {
		return min(own, granted)
	}
	return own
}
