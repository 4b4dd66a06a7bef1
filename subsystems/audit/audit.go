// Package audit keeps a record of what agents do and who allowed it: turns, calls, decisions and questions. Records are chained, so that a
// change of one, a missing one and a cut end are found ([Log]). Without being asked it keeps no contents, only their digests.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Audit writes the record. It is safe for concurrent use; New makes one.
//
//hook:subsystem
type Audit struct {
	hook.Nop
	o Options

	mu     sync.Mutex
	agents map[string]Section // those that are recorded
	failed error              // why the last record was not written; nil if it was
}

var _ hook.Hook = (*Audit)(nil)

// Appender adds records: [Log] in files, [Chains] in a database. It is safe for concurrent use.
type Appender interface {
	// Append adds a record, which record returns for its number; record may be called again.
	Append(record func(n int64) any) error
}

// Options are the settings of [Audit]. Log is required.
type Options struct {
	Log Appender
	// Project is written into each record, and Node, unless it is "".
	Project string
	Node    string
	// All records every agent, with these settings, whatever its section says. Nil records the agents with a section.
	All *Section
}

// Section is an agent's configuration: the section "audit".
type Section struct {
	// Contents keeps inputs, arguments, results and answers, and not only their digests.
	Contents bool `json:"contents,omitzero"`
	// Required ends turns and denies calls while no record can be written.
	Required bool `json:"required,omitzero"`
}

// Record is one record. What does not belong to its kind is left out.
type Record struct {
	N            int64     `json:"n"`
	Time         time.Time `json:"time"`
	Kind         string    `json:"kind"` // that of the event
	Node         string    `json:"node,omitzero"`
	Project      string    `json:"project,omitzero"`
	Agent        string    `json:"agent"`
	Conversation string    `json:"conversation,omitzero"`
	Turn         string    `json:"turn,omitzero"`
	Step         int       `json:"step,omitzero"`
	// Depth is 1 for a turn that another agent runs, and so on.
	Depth int    `json:"depth,omitzero"`
	Call  string `json:"call,omitzero"`
	Tool  string `json:"tool,omitzero"`
	// Decision is what was decided, By who did: a person, a subsystem or a rule.
	Decision string          `json:"decision,omitzero"`
	By       string          `json:"by,omitzero"`
	Stop     hook.StopReason `json:"stop,omitzero"`
	Usage    message.Usage   `json:"usage,omitzero"`
	Cost     hook.Cost       `json:"cost,omitzero"` // in billionths of a dollar
	// Digests are the SHA-256 of what the record is about: of its text, its arguments or its result. Contents has these
	// themselves, where they are asked for.
	Digests  Contents `json:"sha256,omitzero"`
	Contents Contents `json:"contents,omitzero"`
}

// Contents are what a record is about.
type Contents struct {
	Text   string `json:"text,omitzero"`
	Args   string `json:"args,omitzero"`
	Result string `json:"result,omitzero"`
}

// New returns the subsystem. It panics without a log.
func New(o Options) *Audit {
	if o.Log == nil {
		panic("audit: New: Log is required")
	}
	return &Audit{o: o, agents: map[string]Section{}}
}

// OnBuildAgent refuses an agent whose section is wrong.
func (a *Audit) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, _, err := hook.SectionOf[Section](&cfg, "audit")
	return cfg, err
}

// OnRegisterAgent begins to record the agent, if its section or Options.All says so.
func (a *Audit) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	s, on, err := hook.SectionOf[Section](cfg, "audit")
	if err != nil {
		return err
	}
	if a.o.All != nil {
		on, s.Contents, s.Required = true, s.Contents || a.o.All.Contents, s.Required || a.o.All.Required
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if on {
		a.agents[cfg.Name] = s
	} else {
		delete(a.agents, cfg.Name)
	}
	return nil
}

func (a *Audit) section(agent string) (s Section, on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, on = a.agents[agent]
	return s, on
}

// OnEvent writes the record of an event that is one of the record.
func (a *Audit) OnEvent(_ context.Context, ev hook.Event) {
	if !recorded[ev.Kind] && !(ev.Kind == event.Diagnostic && ev.Detail().Visibility.Reaches(event.VisibleAudit)) {
		return
	}
	s, on := a.section(ev.Agent)
	if !on {
		return
	}
	if first, err := a.write(a.record(ev, s.Contents)); first {
		ev.Host().Emit(context.Background(), hook.Diagnostic{Text: fmt.Sprintf("the audit record cannot be written: %v", err)}.Event())
	}
}

// kindGap is the kind of the first record behind those that could not be written.
const kindGap = "gap"

// write appends the record, and before it one that says that others are missing, if they are. first says that err is the first
// failure after a success.
func (a *Audit) write(r Record) (first bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed != nil {
		if a.failed = a.append(Record{Time: r.Time, Kind: kindGap, Agent: r.Agent, Decision: a.failed.Error()}); a.failed != nil {
			return false, a.failed
		}
	}
	a.failed = a.append(r)
	return a.failed != nil, a.failed
}

func (a *Audit) append(r Record) error {
	r.Project, r.Node = a.o.Project, a.o.Node
	return a.o.Log.Append(func(n int64) any { r.N = n; return r })
}

// recorded are the kinds of events that the record has.
var recorded = map[hook.EventKind]bool{
	event.TurnStart: true, event.TurnEnd: true, event.Steered: true, event.SteerRefused: true,
	event.CallStart: true, event.CallResult: true, event.ApprovalAsked: true, event.ApprovalGiven: true, event.ApprovalTimedOut: true,
	event.QuestionAsked: true, event.QuestionGiven: true, event.SubagentStart: true, event.SubagentEnd: true, event.HookFailed: true, event.Error: true,
}

func (a *Audit) record(ev hook.Event, contents bool) Record {
	d := ev.Detail()
	r := Record{
		Time: ev.Time.UTC(), Kind: string(ev.Kind), Agent: ev.Agent, Conversation: ev.Conversation, Turn: ev.Turn, Step: ev.Step, Depth: ev.Depth,
		Call: d.CallID, Tool: d.Tool, By: d.By, Stop: d.Stop, Usage: d.Usage, Cost: d.Cost,
	}
	switch ev.Kind {
	case event.ApprovalGiven, event.ApprovalTimedOut:
		r.Decision = string(d.Answer)
	case event.CallResult:
		r.Decision = string(d.Outcome)
	case event.Diagnostic:
		r.Decision = string(d.Code)
	case event.HookFailed:
		r.Decision, r.By = string(d.Point), d.Subsystem
	}
	all := Contents{Text: ev.Text, Args: string(d.Args), Result: d.Result.Text()}
	r.Digests = Contents{digest(all.Text), digest(all.Args), digest(all.Result)}
	if contents {
		r.Contents = all
	}
	return r
}

// digest returns the SHA-256 of a text; "" for none.
func digest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// blocked returns why an agent that requires the record has to stop; "" if it need not.
func (a *Audit) blocked(agent string) string {
	s, on := a.section(agent)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !on || !s.Required || a.failed == nil {
		return ""
	}
	return fmt.Sprintf("the audit record, which the agent requires, cannot be written: %v", a.failed)
}

// BeforeTurn rejects the turn of an agent that requires the record while none can be written.
func (a *Audit) BeforeTurn(_ context.Context, t *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
	if why := a.blocked(t.Agent().Name); why != "" {
		return hook.RejectTurn(why), nil
	}
	return hook.TurnDecision{}, nil
}

// BeforeTool denies the call of an agent that requires the record while none can be written.
func (a *Audit) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if call.Step() == nil || call.Step().Turn() == nil {
		return hook.ToolDecision{}, nil
	}
	if why := a.blocked(call.Step().Turn().Agent().Name); why != "" {
		return hook.DenyTool(why), nil
	}
	return hook.ToolDecision{}, nil
}
