package hook

import (
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// EventKind names a kind of event. The names are also those on the wire.
type EventKind string

// The kinds that this package makes; package event has all.
const (
	kindHookFailed EventKind = "hook_failed"
	kindHookRun    EventKind = "hook_run"
	kindDiagnostic EventKind = "diagnostic"
)

// Event is one thing that happened in the runtime. It is a value; passing one allocates nothing.
type Event struct {
	Kind EventKind
	// Seq counts the events of a conversation from 1, without gaps.
	Seq uint64
	// Epoch is that of the lease under which the runtime numbers the events of the
	// conversation. A process that dies may have emitted events that were not stored yet.
	// A later epoch reuses their sequence numbers.
	Epoch int64
	// Time is when the event was emitted, by the runtime's clock; never before that of the
	// event before it.
	Time time.Time
	// Agent, Conversation and Turn are ids; empty outside one.
	Agent        string
	Conversation string
	Turn         string
	// Ephemeral: the event is of a conversation of which nothing is stored. Conversation is an id for its life only, and says which
	// events belong together.
	Ephemeral bool
	// Step counts from 1; 0 outside a step.
	Step int
	// Depth is 0 for the turn of the conversation itself, 1 for a child of it, and
	// so on. A child's events are in the stream of the conversation that people
	// see, with its own Agent and Turn.
	Depth int
	// Text is cut in its middle, with a mark, if it is longer than the limit of a tool
	// result. Deltas are never cut. The messages of the conversation have the whole text.
	Text string
	// Omitted is how many bytes of Text and of the arguments were cut; 0 if both are
	// whole. Long arguments are shortened member by member and stay JSON.
	Omitted int

	detail *privateDetail
	host   Host
}

// privateDetail adds the values that are never serialised to the detail. It never changes.
type privateDetail struct {
	EventDetail
	failure *Failure
	run     *Run
}

// EventDetail is the part of an event that only some kinds have.
type EventDetail struct {
	CallID    string
	Tool      string
	Args      message.JSON
	Tools     message.List[string]
	Result    message.ToolResult
	Outcome   message.Outcome
	Duration  time.Duration
	Answer    Answer
	By        string
	Usage     message.Usage
	Cost      Cost
	Stop      StopReason
	Subsystem string
	Point     Point
	Inquiry   Inquiry
	Response  Response
	// Code is that of a diagnostic, Visibility that of a diagnostic or a hook run.
	Code       DiagnosticCode
	Visibility Visibility
}

// WithDetail returns the event with the detail.
func (e Event) WithDetail(d EventDetail) Event { e.detail = &privateDetail{EventDetail: d}; return e }

// WithChanged returns the event with the detail in the place of its own. [Event.Failure] and
// [Event.Run] stay.
func (e Event) WithChanged(d EventDetail) Event {
	if e.detail != nil {
		e.detail = &privateDetail{d, e.detail.failure, e.detail.run}
	}
	return e
}

// WithCall returns the event about a call: Detail has its id, tool and arguments.
func (e Event) WithCall(c *ToolCall) Event {
	return e.WithDetail(EventDetail{CallID: c.d.ID, Tool: c.d.Tool.Name, Args: c.d.Args})
}

// WithEnd returns the event about how a call ended.
func (e Event) WithEnd(end *CallEnd) Event {
	return e.WithDetail(EventDetail{
		CallID: end.Call.ID(), Tool: end.Call.Name(), Result: end.Result, Outcome: end.Outcome, Duration: end.Duration,
		By: end.By,
	})
}

// WithTools returns the event about the tools of these names.
func (e Event) WithTools(names message.List[string]) Event {
	return e.WithDetail(EventDetail{Tools: names})
}

// WithUsage returns the event about the usage and cost of a model call or a turn; stop is
// why the turn ended, "" for a model call.
func (e Event) WithUsage(u message.Usage, c Cost, stop StopReason) Event {
	return e.WithDetail(EventDetail{Usage: u, Cost: c, Stop: stop})
}

// Detail returns a copy of the detail; zero if the kind has none.
func (e Event) Detail() EventDetail {
	if e.detail == nil {
		return EventDetail{}
	}
	return e.detail.EventDetail
}

// CallEnd is how a call ended; the event call_result shows it.
type CallEnd struct {
	Call     *ToolCall
	Result   message.ToolResult
	Outcome  message.Outcome
	Duration time.Duration
	// By is the path of the hook whose answer took the place of the tool: it denied the call, or gave a result. "" if none did.
	By string
}

// Detached returns the event without a host, so that a kept event keeps nothing else alive.
func (e Event) Detached() Event { e.host = nil; return e }

// WithHost returns the event with the runtime's host. The runtime uses it.
func (e Event) WithHost(h Host) Event { e.host = h; return e }

// SetHost is WithHost without a copy.
func (e *Event) SetHost(h Host) { e.host = h }

// Host returns the runtime's services for hooks. It is never nil.
func (e Event) Host() Host { return hostOr(e.host) }

// Internal reports whether the event is for hooks only.
func (e *Event) Internal() bool {
	return e.detail != nil && e.Kind == kindDiagnostic && e.detail.Visibility == visibleInternal
}

// Failure returns the hook's failure that the event is about, with its cause, or nil.
// It is never serialised: an operator's log may show it, clients do not get it.
func (e Event) Failure() *Failure {
	if e.detail == nil {
		return nil
	}
	return e.detail.failure
}
