// Package wire is the form of the daemon's API: what requests and responses are
// as JSON, and how a stream of events is written. The server and its client
// share it; docs/openapi.yaml says the same for everybody else.
package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Health says what a daemon is and whether it takes new turns.
type Health struct {
	Status Status `json:"status"`
	// Root is the project that the daemon works in, and State the directory of its
	// databases: absolute paths.
	Root    string    `json:"root"`
	State   string    `json:"state"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Turns is the number of turns in flight.
	Turns int `json:"turns"`
	// LastEventID is that of the newest event in the stream of all events.
	LastEventID string `json:"last_event_id"`
	// Hooks: hook runs are recorded.
	Hooks bool `json:"hooks,omitzero"`
	// Abandoned is what ignored its context and still runs, though nobody waits for it.
	Abandoned []Abandoned `json:"abandoned,omitempty"`
	// LateHooks is how many hooks still run that did not answer within their timeout.
	LateHooks int `json:"late_hooks,omitzero"`
}

// Abandoned is calls of a tool, or calls of a hook at a point, that still run although
// nobody waits for them.
type Abandoned struct {
	Tool  string `json:"tool,omitzero"`
	Hook  string `json:"hook,omitzero"`
	Point string `json:"point,omitzero"`
	Count int    `json:"count"`
}

// Status is how a daemon is.
type Status string

// The states of a daemon.
const (
	StatusOK      Status = "ok"
	StatusClosing Status = "closing" // it ends what is in flight and takes nothing new
)

// Agent is a registered agent.
type Agent struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Model       string `json:"model,omitzero"`
	// Tools are the public names of those that the agent may use.
	Tools []string `json:"tools"`
	// Prompt is the system prompt; lists of agents leave it out.
	Prompt string `json:"prompt,omitzero"`
}

// Agents is a list of agents, sorted by name.
type Agents struct {
	Agents []Agent `json:"agents"`
}

// NewAgent is an agent to be registered until the daemon ends.
type NewAgent struct {
	Name         string `json:"name"`
	Description  string `json:"description,omitzero"`
	Model        string `json:"model,omitzero"`
	Instructions string `json:"instructions,omitzero"`
	// Tools: nil is all there are, empty and non-nil is none.
	Tools      []string               `json:"tools,omitzero"`
	Limits     Limits                 `json:"limits,omitzero"`
	Format     message.ResponseFormat `json:"format,omitzero"`
	ToolChoice message.ToolChoice     `json:"tool_choice,omitzero"`
	// Sections are the configurations of subsystems, each an object, by their
	// names: {"ostools": {…}}.
	Sections map[string]message.JSON `json:"sections,omitzero"`
}

// Limits bound a turn; zero is the default.
type Limits struct {
	Steps     int   `json:"steps,omitzero"`
	Tokens    int64 `json:"tokens,omitzero"`
	MaxTokens int   `json:"max_tokens,omitzero"`
	// Time is a duration with its unit: "90s", "2m".
	Time string `json:"time,omitzero"`
}

// Tool is one tool as an agent stands to it.
type Tool struct {
	Name        string `json:"name"`
	Owner       string `json:"owner"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"read_only,omitzero"`
	Destructive bool   `json:"destructive,omitzero"`
	Idempotent  bool   `json:"idempotent,omitzero"`
	OpenWorld   bool   `json:"open_world,omitzero"`
	// OutOfScope says why the agent may not call it; "" if it may.
	OutOfScope string `json:"out_of_scope,omitzero"`
}

// Tools is a list of tools, in the order in which a model is told of them.
type Tools struct {
	Agent string `json:"agent"`
	Tools []Tool `json:"tools"`
}

// Conversation is one message history.
type Conversation struct {
	ID string `json:"id"`
	// Project is the root of the project that it belongs to, or ProjectBefore.
	Project string `json:"project,omitzero"`
	Agent   string `json:"agent"`
	Sender  string `json:"sender"`
	// Title is the beginning of what was first said, as one line. Lists and a
	// conversation that is asked for by its id have it.
	Title string `json:"title,omitzero"`
	// Turns is the number of turns that have ended.
	Turns   int       `json:"turns"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Turn is the id of the turn that is running.
	Turn string `json:"turn,omitzero"`
	// Interrupted: there is a turn that its process has not brought to its end.
	Interrupted bool `json:"interrupted,omitzero"`
	// Inquiries is the number of those that wait for an answer.
	Inquiries int `json:"inquiries,omitzero"`
	// LastEventID is that of the newest event: a stream that is begun with it has
	// everything that follows.
	LastEventID string `json:"last_event_id"`
}

// ProjectBefore is the project of what was stored before there were projects.
const ProjectBefore = "before"

// Adoption brings a conversation of another project to this one. An empty agent or
// sender is the one that it has.
type Adoption struct {
	Agent  string `json:"agent,omitzero"`
	Sender string `json:"sender,omitzero"`
}

// Conversations is a list of conversations, ordered by project, then from the one that
// changed last to the oldest.
type Conversations struct {
	Conversations []Conversation `json:"conversations"`
}

// NewConversation asks for the conversation of an agent with a sender, which is
// made if there is none. An empty agent is the daemon's default, an empty sender
// a new one.
type NewConversation struct {
	Agent  string `json:"agent,omitzero"`
	Sender string `json:"sender,omitzero"`
}

// Messages is a history, oldest first.
type Messages struct {
	Messages []message.Message `json:"messages"`
}

// NewMessage starts a turn.
type NewMessage struct {
	Text string `json:"text"`
	// WhenBusy says what to do while a turn is running; "" is BusyRefuse.
	WhenBusy Busy `json:"when_busy,omitzero"`
}

// Busy is what can be done while a turn is running.
type Busy string

// What can be done while a turn is running.
const (
	BusyRefuse Busy = "refuse"
	BusyQueue  Busy = "queue" // the turn begins when those before it have ended
	BusySteer  Busy = "steer" // the message is for the turn that is running
)

// Turn is a turn that has begun.
type Turn struct {
	ID           string `json:"id"`
	Conversation string `json:"conversation"`
	// Steered: the turn was running already, and has been told the message.
	Steered bool `json:"steered,omitzero"`
	// LastEventID is that of the event before the turn's first one, or of the newest
	// one of a turn that was steered: a stream of the conversation that is begun
	// with it has the whole turn, or the rest of it.
	LastEventID string `json:"last_event_id"`
}

// Cancelled says whether there was a turn to cancel.
type Cancelled struct {
	Cancelled bool `json:"cancelled"`
	// Turn is the one that is being cancelled.
	Turn string `json:"turn,omitzero"`
}

// Ask is a tool call that waits for somebody's approval.
type Ask struct {
	ID           string `json:"id"`
	Agent        string `json:"agent,omitzero"`
	Conversation string `json:"conversation"`
	Turn         string `json:"turn"`
	// Depth is 1 for the call of an agent that another one runs, and so on.
	Depth  int    `json:"depth,omitzero"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Args are the arguments with which the tool will run.
	Args message.JSON `json:"args"`
	// Reason is why somebody is asked.
	Reason string    `json:"reason,omitzero"`
	Asked  time.Time `json:"asked"`
	// Expires is when the time for an answer is over; zero is never.
	Expires time.Time `json:"expires,omitzero"`
	// ApprovedOnTimeout: the call is approved then, and not refused.
	ApprovedOnTimeout bool `json:"approved_on_timeout,omitzero"`
	// Offers are what can be remembered with the answer, the narrowest first.
	Offers []Offer `json:"offers,omitzero"`
}

// Offer is something that can be remembered with an answer.
type Offer struct {
	ID string `json:"id"`
	// Text says all that the answer will then cover.
	Text string `json:"text"`
}

// Asks is a list of asks, the oldest first.
type Asks struct {
	Asks []Ask `json:"asks"`
}

// Answer answers an ask.
type Answer struct {
	Answer AnswerKind `json:"answer"`
	// Args are the arguments to run the tool with: an object, with modify only.
	Args message.JSON `json:"args,omitzero"`
	// Reason is what the model is told, with refuse only.
	Reason string `json:"reason,omitzero"`
	// Remember is the id of one of the ask's offers; "" remembers nothing. Not with
	// modify.
	Remember string `json:"remember,omitzero"`
	// By says who answers, for the event, in at most 64 bytes; "" is api.
	By string `json:"by,omitzero"`
}

// AnswerKind is what can be answered.
type AnswerKind string

// The answers to an ask.
const (
	AnswerApprove AnswerKind = "approve"
	AnswerRefuse  AnswerKind = "refuse"
	AnswerModify  AnswerKind = "modify"
)

// Inquiry is questions of an agent that wait for an answer.
type Inquiry struct {
	ID           string                      `json:"id"`
	Agent        string                      `json:"agent"`
	Conversation string                      `json:"conversation"`
	Turn         string                      `json:"turn"`
	Questions    message.List[hook.Question] `json:"questions"`
	Asked        time.Time                   `json:"asked"`
	// Expires is when the agent goes on without an answer; zero is never.
	Expires time.Time `json:"expires,omitzero"`
}

// Inquiries is a list of inquiries, the oldest first.
type Inquiries struct {
	Inquiries []Inquiry `json:"inquiries"`
}

// Reply answers an inquiry.
type Reply struct {
	// Conversation is needed only for an answer that comes before the agent asks.
	Conversation string `json:"conversation,omitzero"`
	// By says who answers, for the event, in at most 64 bytes; "" is api.
	By string `json:"by,omitzero"`
	// Given has an answer for each question, in their order; an empty one leaves the
	// question out.
	Given []Given `json:"given"`
}

// Given is the answer to one question: the labels of what is chosen, or text, or
// both. It is hook.Given in a form that is read strictly.
type Given struct {
	Chosen []string `json:"chosen,omitzero"`
	Text   string   `json:"text,omitzero"`
}

// GivenOf returns a response as it goes over the wire.
func GivenOf(r hook.Response) []Given {
	out := make([]Given, r.Given.Len())
	for i, g := range r.Given.All() {
		out[i] = Given{Chosen: g.Chosen.Slice(), Text: g.Text}
	}
	return out
}

// Response returns the response that the reply is.
func (r Reply) Response() hook.Response {
	out := make([]hook.Given, len(r.Given))
	for i, g := range r.Given {
		out[i] = hook.Given{Chosen: message.ListOf(g.Chosen...), Text: g.Text}
	}
	return hook.Response{Given: message.Freeze(out)}
}

// Error is why a request was refused or failed.
type Error struct {
	// Code is for programs.
	Code Code `json:"code"`
	// Message says what is wrong, where, and what to do.
	Message string `json:"message"`
}

// Failure is the body of every response that is no success.
type Failure struct {
	Error Error `json:"error"`
}

// Code is a kind of error.
type Code string

// The kinds of error.
const (
	CodeInvalid     Code = "invalid"           // the request is wrong
	CodeForbidden   Code = "forbidden"         // the client may not ask at all
	CodeNotFound    Code = "not_found"         // there is nothing of that name
	CodeMethod      Code = "method"            // the path has no such method
	CodeExists      Code = "exists"            // the name is taken
	CodeBusy        Code = "busy"              // a turn of the conversation is running
	CodeAnswered    Code = "answered"          // the inquiry, or the ask, waits for no answer any more
	CodeIdle        Code = "idle"              // there is nothing to go on with, or to compact
	CodeSkipped     Code = "skipped"           // a hook did not want it done
	CodeAgentGone   Code = "agent_gone"        // the conversation's agent is not registered
	CodeProject     Code = "project"           // the conversation belongs to another project
	CodeTooLarge    Code = "too_large"         // the body is too long
	CodeMedia       Code = "unsupported_media" // the body is no JSON by its header
	CodeTooSlow     Code = "too_slow"          // the body did not come in time
	CodeModel       Code = "model"             // the model failed, or its answer cannot be used
	CodeUnavailable Code = "unavailable"       // the daemon is ending
	CodeInternal    Code = "internal"          // the daemon failed
)
