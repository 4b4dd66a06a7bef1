package differential

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Log is what the members did, in order. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Add adds a line.
func (l *Log) Add(line string) {
	l.mu.Lock()
	l.lines = append(l.lines, line)
	l.mu.Unlock()
}

// Lines returns the lines so far.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// Mode is what a member does at a point.
type Mode int

// The modes.
const (
	Silent Mode = iota
	Answers
	Fails
	Panics
	// Hangs is to answer after two seconds.
	Hangs
)

// Member is the mix-in of all members: every point, driven by a table.
type Member struct {
	hook.Nop
	Name string
	Log  *Log
	// Do says what to do at a point; Silent where it says nothing.
	Do map[hook.Point]Mode
	// Say chooses among the answers of a decider.
	Say int
}

// at logs the point and fails or panics if the table says so; true means to
// answer.
func (m *Member) at(p hook.Point, detail any) (bool, error) {
	m.Log.Add(fmt.Sprintf("%s.%s(%v)", m.Name, p, detail))
	switch m.Do[p] {
	case Answers:
		return true, nil
	case Hangs:
		time.Sleep(2 * time.Second)
		return true, nil
	case Fails:
		return false, errors.New(m.Name + " fails")
	case Panics:
		panic(m.Name + " panics")
	}
	return false, nil
}

// mark appends the member's name where the table says so. What a failure returns
// must reach nobody.
func (m *Member) mark(p hook.Point, s string) (string, error) {
	yes, err := m.at(p, s)
	if err != nil {
		return "half of " + m.Name, err
	}
	if yes {
		s += "+" + m.Name
	}
	return s, nil
}

// SystemPrompt implements hook.Hook.
func (m *Member) SystemPrompt(cfg *hook.AgentConfig) string {
	yes, err := m.at(point.SystemPrompt, cfg.ToolName(""))
	if err != nil {
		panic(err)
	}
	if !yes {
		return ""
	}
	return m.Name + " of " + cfg.ToolName("x")
}

// OnBuildAgent implements hook.Hook.
func (m *Member) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	var err error
	cfg.Instructions, err = m.mark(point.OnBuildAgent, cfg.Instructions)
	return cfg, err
}

// OnRegisterAgent implements hook.Hook.
func (m *Member) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	_, err := m.at(point.OnRegisterAgent, cfg.Name)
	return err
}

// OnUnregisterAgent implements hook.Hook.
func (m *Member) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	if _, err := m.at(point.OnUnregisterAgent, cfg.Name); err != nil {
		panic(err)
	}
}

// Preprocess implements hook.Hook.
func (m *Member) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	text, err := m.mark(point.Preprocess, in.Text())
	return message.TextInput(text), err
}

// ScopedTools implements hook.Hook.
func (m *Member) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	yes, err := m.at(point.ScopedTools, cfg.ToolName(""))
	if err != nil {
		return hook.Scope{Tools: []string{}, Line: m.Name + " has none"}
	}
	if yes {
		return hook.Scope{Tools: []string{"read", "add", "echo", "read"}, Line: m.Name + " has some"}
	}
	return hook.Scope{}
}

// OnEvent implements hook.Hook.
func (m *Member) OnEvent(_ context.Context, ev hook.Event) {
	if _, err := m.at(point.OnEvent, ev.Text); err != nil {
		panic(err)
	}
}

// OnOpen implements hook.OnOpen.
func (m *Member) OnOpen(context.Context, hook.Host) error {
	_, err := m.at(point.OnOpen, "")
	return err
}

// OnClose implements hook.OnClose.
func (m *Member) OnClose(context.Context) error {
	_, err := m.at(point.OnClose, "")
	return err
}

// RewriteArgs implements hook.RewriteArgs.
func (m *Member) RewriteArgs(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
	s, err := m.mark(point.RewriteArgs, string(args))
	return message.JSON(s), err
}

// BeforeTool implements hook.BeforeTool.
func (m *Member) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	yes, err := m.at(point.BeforeTool, call.Name())
	if !yes {
		return hook.ToolDecision{}, err
	}
	return []hook.ToolDecision{
		hook.AskTool("ask " + m.Name), hook.DenyTool("deny " + m.Name), hook.StopTool("stop " + m.Name),
		hook.AnswerTool(message.TextResult(m.Name)), hook.NarrowTool(hook.Grant{Root: "/" + m.Name, MaxOutput: 10 + m.Say}),
	}[m.Say%5], nil
}

// Approve implements hook.Approve.
func (m *Member) Approve(_ context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	yes, err := m.at(point.Approve, asked.Verdict().By)
	if !yes {
		return hook.ApprovalDecision{}, err
	}
	return []hook.ApprovalDecision{hook.ApproveCall(), hook.RefuseCall(m.Name), hook.ModifyCall(message.JSON(m.Name))}[m.Say%3], nil
}

// WrapTool implements hook.WrapTool. It panics before or after the rest.
func (m *Member) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	if m.Say%2 == 0 {
		if _, err := m.at(point.WrapTool, call.ID()); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
	}
	r := next.Run(ctx)
	if m.Say%2 == 1 {
		if _, err := m.at(point.WrapTool, call.ID()); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
	}
	return message.TextResult(r.Text() + "<" + m.Name)
}

// RewriteResult implements hook.RewriteResult.
func (m *Member) RewriteResult(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	s, err := m.mark(point.RewriteResult, r.Text())
	return message.TextResult(s), err
}

// AfterTool implements hook.AfterTool.
func (m *Member) AfterTool(_ context.Context, _ *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
	yes, err := m.at(point.AfterTool, o.Outcome)
	if !yes {
		return hook.OutcomeDecision{}, err
	}
	return []hook.OutcomeDecision{hook.StopOutcome(m.Name), hook.WithholdOutcome(m.Name), hook.ContextOutcome(m.Name)}[m.Say%3], nil
}

// RewriteRequest implements hook.RewriteRequest.
func (m *Member) RewriteRequest(_ context.Context, _ *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	var err error
	req.System, err = m.mark(point.RewriteRequest, req.System)
	return req, err
}

// BeforeModel implements hook.BeforeModel.
func (m *Member) BeforeModel(_ context.Context, _ *hook.Step, req message.ModelRequest) (hook.ModelDecision, error) {
	yes, err := m.at(point.BeforeModel, req.System)
	if !yes {
		return hook.ModelDecision{}, err
	}
	return []hook.ModelDecision{hook.StopModel(m.Name), hook.RejectModel(m.Name), hook.RespondModel(message.ModelReply{Model: m.Name})}[m.Say%3], nil
}

// WrapModel implements hook.WrapModel. It panics when called or while it streams.
func (m *Member) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	if m.Say%2 == 0 {
		if _, err := m.at(point.WrapModel, "call"); err != nil {
			panic(err)
		}
	}
	return func(yield func(message.Chunk, error) bool) {
		for c, err := range next.Stream(ctx) {
			c.Text += "<" + m.Name
			if !yield(c, err) {
				return
			}
			if m.Say%2 == 1 {
				if _, err := m.at(point.WrapModel, "stream"); err != nil {
					yield(message.Chunk{}, err)
					return
				}
			}
		}
	}
}

// RewriteReply implements hook.RewriteReply.
func (m *Member) RewriteReply(_ context.Context, _ *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
	var err error
	reply.Model, err = m.mark(point.RewriteReply, reply.Model)
	return reply, err
}

// AfterModel implements hook.AfterModel.
func (m *Member) AfterModel(_ context.Context, _ *hook.Step, reply message.ModelReply) (hook.ReplyDecision, error) {
	yes, err := m.at(point.AfterModel, reply.Model)
	if !yes {
		return hook.ReplyDecision{}, err
	}
	return []hook.ReplyDecision{hook.StopReply(m.Name), hook.RejectReply(m.Name), hook.RetryReply(m.Name)}[m.Say%3], nil
}

// AfterTurn implements hook.AfterTurn.
func (m *Member) AfterTurn(_ context.Context, t *hook.Turn, _ hook.TurnOutcome) {
	if _, err := m.at(point.AfterTurn, t.ID()); err != nil {
		panic(err)
	}
}
