// Package wire has the JSON types of the daemon's API: requests, responses and the
// stream of events. The server and its client share it. For other clients,
// docs/openapi.yaml describes the same API.
package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Health identifies a daemon and reports its status.
type Health struct {
	Status Status `json:"status"`
	// Root is the directory of the daemon's project, and State that of its databases:
	// absolute paths.
	Root    string    `json:"root"`
	State   string    `json:"state"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Turns is the number of running turns.
	Turns int `json:"turns"`
	// LastEventID is the id of the newest event in the stream of all events.
	LastEventID string `json:"last_event_id"`
	// Hooks: hook runs are recorded.
	Hooks bool `json:"hooks,omitzero"`
	// Abandoned lists calls that ignored their context and still run.
	Abandoned []Abandoned `json:"abandoned,omitempty"`
	// LateHooks is how many hooks still run after their timeout.
	LateHooks int `json:"late_hooks,omitzero"`
}

// Abandoned counts calls of one tool, or of one hook at one point, that still run although
// the daemon has stopped waiting for them.
type Abandoned struct {
	Tool  string `json:"tool,omitzero"`
	Hook  string `json:"hook,omitzero"`
	Point string `json:"point,omitzero"`
	Count int    `json:"count"`
}

// Status is the status of a daemon.
type Status string

// The states of a daemon.
const (
	StatusOK      Status = "ok"
	StatusClosing Status = "closing" // it waits for running turns and starts no new ones
)

// Further states of a daemon that is not ready.
const (
	StatusStarting Status = "starting" // agents are being registered
	StatusStore    Status = "store"    // the databases cannot be written, or do not answer
	StatusLate     Status = "late"     // other daemons may take this one for dead
)

// Probe is the answer of /healthz and /readyz: ok, or in a word why the daemon is not ready.
type Probe struct {
	Status Status `json:"status"`
}

// Agent is a registered agent.
type Agent struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Model       string `json:"model,omitzero"`
	// Tools are the public names of the tools that the agent may use.
	Tools []string `json:"tools"`
	// Prompt is the system prompt; lists of agents leave it out.
	Prompt string `json:"prompt,omitzero"`
	// Commands are what a person may type to the agent that is no message; lists of agents leave
	// them out.
	Commands []Command `json:"commands,omitzero"`
}

// Command is a message that begins with a slash and the name: a subsystem answers it, or it
// starts a skill.
type Command struct {
	Name     string `json:"name"`
	Argument string `json:"argument,omitzero"`
	Help     string `json:"help,omitzero"`
	// Skill: it starts a skill.
	Skill bool `json:"skill,omitzero"`
}

// Agents is a list of agents, sorted by name.
type Agents struct {
	Agents []Agent `json:"agents"`
}

// Reloaded says what a reload has done with the agents that files define, sorted by name.
type Reloaded struct {
	Added   []string `json:"added,omitzero"`
	Updated []string `json:"updated,omitzero"`
	Removed []string `json:"removed,omitzero"`
	// Unchanged is how many agents are as they were.
	Unchanged int `json:"unchanged"`
	// Refused are the agents that keep what they had; a new one is not there.
	Refused []Refused `json:"refused,omitzero"`
	// Settings are those of other files that have changed since the daemon began, sorted by file. None has taken effect.
	Settings []ChangedSetting `json:"settings,omitzero"`
}

// ChangedSetting is a setting that a file has and the daemon has not. Its value is not shown: some are secret.
type ChangedSetting struct {
	File string `json:"file"`
	// Setting is its name, such as spending.day; "" is the whole file.
	Setting string `json:"setting,omitzero"`
	// NeedsRestart: it takes effect when the daemon is started again.
	NeedsRestart bool `json:"needs_restart"`
	// Problem is why the daemon would not start again; "" if it would.
	Problem string `json:"problem,omitzero"`
}

// Refused is an agent that could not be reloaded, and why.
type Refused struct {
	Agent string `json:"agent"`
	Why   string `json:"why"`
}

// Stats counts since the daemon began.
type Stats struct {
	Since  time.Time    `json:"since"`
	Agents []AgentStats `json:"agents"`
}

// AgentStats counts the turns of one agent, with those that it ran for another agent.
type AgentStats struct {
	Agent string `json:"agent"`
	// Running is how many of its turns run now; the rest counts turns that have ended.
	Running int `json:"running"`
	Turns   int `json:"turns"`
	// Stops says how the turns ended.
	Stops map[hook.StopReason]int `json:"stops"`
	// Steps and Calls are their model steps and tool calls.
	Steps int           `json:"steps"`
	Calls int           `json:"calls"`
	Usage message.Usage `json:"usage"`
	Cost  hook.Cost     `json:"cost"` // in billionths of a dollar
	// Millis is how long they took together, and Last when one ended last; the zero time is never.
	Millis int64     `json:"ms"`
	Last   time.Time `json:"last,omitzero"`
}

// NewAgent registers an agent.
type NewAgent struct {
	Name         string `json:"name"`
	Description  string `json:"description,omitzero"`
	Model        string `json:"model,omitzero"`
	Instructions string `json:"instructions,omitzero"`
	// Tools are the names of its tools; nil is all tools, empty and non-nil is none.
	Tools  []string `json:"tools,omitzero"`
	Limits Limits   `json:"limits,omitzero"`
	// Loop is the loop of its turns; "" is tool calling.
	Loop       message.Loop           `json:"loop,omitzero"`
	Format     message.ResponseFormat `json:"format,omitzero"`
	ToolChoice message.ToolChoice     `json:"tool_choice,omitzero"`
	// Sections are the configurations of subsystems by name, each an object:
	// {"ostools": {…}}.
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

// Tool is one tool, and whether an agent may use it.
type Tool struct {
	Name        string `json:"name"`
	Owner       string `json:"owner"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"read_only,omitzero"`
	Destructive bool   `json:"destructive,omitzero"`
	Idempotent  bool   `json:"idempotent,omitzero"`
	OpenWorld   bool   `json:"open_world,omitzero"`
	// OutOfScope is the reason why the agent may not use the tool; "" if it may.
	OutOfScope string `json:"out_of_scope,omitzero"`
}

// Tools is a list of tools, in the order in which models see them.
type Tools struct {
	Agent string `json:"agent"`
	Tools []Tool `json:"tools"`
}

// Conversation is one message history.
type Conversation struct {
	ID string `json:"id"`
	// Project is the directory of its project, or ProjectBefore.
	Project string `json:"project,omitzero"`
	Agent   string `json:"agent"`
	Sender  string `json:"sender"`
	// Title is the beginning of the first message, as one line. Responses that list
	// conversations or find one by its id have it.
	Title string `json:"title,omitzero"`
	// Turns is the number of turns that have ended.
	Turns   int       `json:"turns"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Turn is the id of the running turn; "" is none.
	Turn string `json:"turn,omitzero"`
	// Interrupted: the process of the last turn ended before the turn did.
	Interrupted bool `json:"interrupted,omitzero"`
	// Inquiries is the number of inquiries that wait for an answer.
	Inquiries int `json:"inquiries,omitzero"`
	// LastEventID is the id of the newest event. A stream that begins with it has all
	// later events.
	LastEventID string `json:"last_event_id"`
}

// Tasks are the plan and the tasks that an agent keeps for a conversation.
type Tasks struct {
	// Plan is Markdown; "" is none.
	Plan  string `json:"plan,omitzero"`
	Todos []Task `json:"todos"`
}

// Task is one task of a list.
type Task struct {
	Content string `json:"content"`
	// Status is pending, in_progress or completed.
	Status string `json:"status"`
	// ActiveForm is the text for the task in progress; "" is Content.
	ActiveForm string `json:"active_form,omitzero"`
}

// ProjectBefore is the project of conversations that are older than projects.
const ProjectBefore = "before"

// Adoption moves a conversation of another project to this one. With an empty agent or
// sender it keeps its own.
type Adoption struct {
	Agent  string `json:"agent,omitzero"`
	Sender string `json:"sender,omitzero"`
}

// Conversations is a list of conversations, ordered by project, then by their last change,
// the newest first.
type Conversations struct {
	Conversations []Conversation `json:"conversations"`
	// Unanswered are the ids of daemons over the same store that did not answer in time: the turns that they run are missing in Turn.
	Unanswered []string `json:"unanswered,omitempty"`
}

// NewConversation asks for the conversation of an agent with a sender. The daemon creates it
// if there is none. An empty agent is the daemon's default, an empty sender a new one.
type NewConversation struct {
	Agent  string `json:"agent,omitzero"`
	Sender string `json:"sender,omitzero"`
}

// Messages is a history, the oldest message first.
type Messages struct {
	Messages []message.Message `json:"messages"`
	// Turns are the numbers of their turns, from 1, as a fork and a rewind count them; nil without a limit in the request, or if the store
	// does not know them.
	Turns []int `json:"turns,omitzero"`
	// First is the index of the first of them in the conversation, which has Total.
	First int `json:"first"`
	Total int `json:"total"`
}

// NewMessage begins a turn, or steers the running one.
type NewMessage struct {
	Text string `json:"text"`
	// Files are read by the model with the text.
	Files []File `json:"files,omitzero"`
	// WhenBusy says what to do while a turn is running; "" is BusyRefuse.
	WhenBusy Busy `json:"when_busy,omitzero"`
	// Format asks for an answer of this form instead of the agent's; the zero one leaves the
	// agent's. A message that steers has none.
	Format message.ResponseFormat `json:"format,omitzero"`
	// Model overrides the agent's model and its settings for the turn that the message begins;
	// see [message.Model.Merge]. A message that steers has none.
	Model message.Model `json:"model,omitzero"`
	// Guest is the name of another agent that answers, in text and without tools; "" is the
	// conversation's own. A message that steers has none.
	Guest string `json:"guest,omitzero"`
	// Tools are further tools for the turn that the message begins, which the client runs. A
	// message that steers has none.
	Tools []ClientTool `json:"tools,omitzero"`
}

// ClientTool is a tool that the client runs: a call is an event client_call, and
// POST /v1/conversations/{id}/calls/{call} brings its result.
type ClientTool struct {
	// Name matches ^[a-zA-Z0-9_-]{1,64}$, and is no tool of the agent.
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Input is the JSON Schema of the arguments; "" is any object.
	Input message.JSON `json:"input,omitzero"`
	// Timeout is the longest wait for a result, as time.ParseDuration reads it; "" is five
	// minutes, a day is the most.
	Timeout string `json:"timeout,omitzero"`
}

// Call is a tool call that waits for the result of a client.
type Call struct {
	// ID is the model's id of the call, unique in the conversation.
	ID           string       `json:"id"`
	Agent        string       `json:"agent,omitzero"`
	Conversation string       `json:"conversation"`
	Turn         string       `json:"turn"`
	Tool         string       `json:"tool"`
	Args         message.JSON `json:"args"`
	Asked        time.Time    `json:"asked"`
	// Expires is when the wait ends.
	Expires time.Time `json:"expires,omitzero"`
}

// Calls is a list of calls, the oldest first.
type Calls struct {
	Calls []Call `json:"calls"`
	// Unanswered are the ids of daemons over the same store that did not answer in time: what they have is missing.
	Unanswered []string `json:"unanswered,omitempty"`
}

// CallResult is the result of a call, from the client that ran it.
type CallResult struct {
	// Text is what the model reads.
	Text string `json:"text"`
	// IsError: the call failed, and Text says why.
	IsError bool `json:"is_error,omitzero"`
}

// File is a file of a message: an image, a PDF, audio or text. What it is follows from its
// content.
type File struct {
	// Name is what the model is told of where the file comes from, such as plan.pdf.
	Name string `json:"name"`
	// Data is the content; in base64 in JSON.
	Data []byte `json:"data"`
}

// Busy says what to do with a message while a turn is running.
type Busy string

// The values of Busy.
const (
	BusyRefuse Busy = "refuse"
	BusyQueue  Busy = "queue" // the turn begins when those before it have ended
	BusySteer  Busy = "steer" // the running turn gets the message
)

// Turn is a turn that has begun.
type Turn struct {
	ID           string `json:"id"`
	Conversation string `json:"conversation"`
	// Steered: the turn was running already, and got the message.
	Steered bool `json:"steered,omitzero"`
	// LastEventID is the id of the event before the turn's first one, or with Steered that
	// of the newest event. A stream that begins with it has the whole turn, or its rest.
	LastEventID string `json:"last_event_id"`
}

// Cancelled reports whether there was a turn to cancel.
type Cancelled struct {
	Cancelled bool `json:"cancelled"`
	// Turn is the id of the turn that is being cancelled.
	Turn string `json:"turn,omitzero"`
}

// Ask is a tool call that waits for a person's approval.
type Ask struct {
	ID           string `json:"id"`
	Agent        string `json:"agent,omitzero"`
	Conversation string `json:"conversation"`
	Turn         string `json:"turn"`
	// Depth is 0 for a call of the conversation's agent, 1 for one of its children, and so
	// on.
	Depth  int    `json:"depth,omitzero"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Args are the arguments with which the tool will run.
	Args message.JSON `json:"args"`
	// Shown is Args as text for a person, whole, with every unseen character as its escape.
	Shown string `json:"shown"`
	// Rounded: Args have a number that a double cannot hold, so a client that reads numbers as doubles, such as JavaScript, has to show
	// Shown, and cannot write Args again.
	Rounded bool `json:"rounded,omitzero"`
	// Masked: markers stand in Args in place of secrets, which the tool gets. The call is approved as it is or refused.
	Masked bool `json:"masked,omitzero"`
	// Reason is why the call needs approval. Part is the part of the call that it is about; ""
	// is none.
	Reason string `json:"reason,omitzero"`
	Part   string `json:"part,omitzero"`
	// Reaches says what the call would touch, and what cannot be known of it. Remarks say what
	// a person may overlook or misread in the arguments.
	Reaches []string `json:"reaches,omitempty"`
	Remarks []string `json:"remarks,omitempty"`
	// Sandbox says what the sandbox would let the call do; nil for a call that does not run in it.
	Sandbox []string `json:"sandbox,omitempty"`
	// Grant is what the call may do if it is approved; the zero Grant adds no limit.
	Grant hook.Grant `json:"grant,omitzero"`
	Asked time.Time  `json:"asked"`
	// Expires is when the ask times out; zero is never.
	Expires time.Time `json:"expires,omitzero"`
	// ApprovedOnTimeout: at the timeout the call is approved, not refused.
	ApprovedOnTimeout bool `json:"approved_on_timeout,omitzero"`
	// Offers are the rules that an answer can create, the narrowest first.
	Offers []Offer `json:"offers,omitzero"`
}

// Offer is a rule that an answer can create, so that similar calls need no answer.
type Offer struct {
	ID string `json:"id"`
	// Text describes all calls that the rule covers.
	Text string `json:"text"`
}

// Asks is a list of asks, the oldest first.
type Asks struct {
	Asks []Ask `json:"asks"`
	// Unanswered are the ids of daemons over the same store that did not answer in time: what they have is missing.
	Unanswered []string `json:"unanswered,omitempty"`
}

// Answer answers an ask.
type Answer struct {
	Answer AnswerKind `json:"answer"`
	// Args are the arguments to run the tool with: an object, with modify only.
	Args message.JSON `json:"args,omitzero"`
	// Reason is a text for the model, with refuse only.
	Reason string `json:"reason,omitzero"`
	// Remember is the id of one of the ask's offers; "" is none. It must be empty with
	// modify.
	Remember string `json:"remember,omitzero"`
	// By names the person who answers, for the event, in at most 64 bytes; "" is api.
	By string `json:"by,omitzero"`
}

// AnswerKind is the kind of an answer to an ask.
type AnswerKind string

// The answers to an ask.
const (
	AnswerApprove AnswerKind = "approve"
	AnswerRefuse  AnswerKind = "refuse"
	AnswerModify  AnswerKind = "modify"
)

// Inquiry has questions of an agent that wait for an answer.
type Inquiry struct {
	ID           string                      `json:"id"`
	Agent        string                      `json:"agent"`
	Conversation string                      `json:"conversation"`
	Turn         string                      `json:"turn"`
	Questions    message.List[hook.Question] `json:"questions"`
	Asked        time.Time                   `json:"asked"`
	// Expires is when the agent continues without an answer; zero is never.
	Expires time.Time `json:"expires,omitzero"`
}

// Inquiries is a list of inquiries, the oldest first.
type Inquiries struct {
	Inquiries []Inquiry `json:"inquiries"`
	// Unanswered are the ids of daemons over the same store that did not answer in time: what they have is missing.
	Unanswered []string `json:"unanswered,omitempty"`
}

// Reply answers an inquiry.
type Reply struct {
	// Conversation is required only for an answer that comes before the agent asks.
	Conversation string `json:"conversation,omitzero"`
	// By names the person who answers, for the event, in at most 64 bytes; "" is api.
	By string `json:"by,omitzero"`
	// Given has one answer for each question, in their order; an empty answer skips the
	// question.
	Given []Given `json:"given"`
}

// Given is the answer to one question: the labels of the chosen options, a text, or both.
// It is hook.Given for strict decoding.
type Given struct {
	Chosen []string `json:"chosen,omitzero"`
	Text   string   `json:"text,omitzero"`
}

// GivenOf converts a response to its JSON type.
func GivenOf(r hook.Response) []Given {
	out := make([]Given, r.Given.Len())
	for i, g := range r.Given.All() {
		out[i] = Given{Chosen: g.Chosen.Slice(), Text: g.Text}
	}
	return out
}

// Response converts the reply to a hook.Response.
func (r Reply) Response() hook.Response {
	out := make([]hook.Given, len(r.Given))
	for i, g := range r.Given {
		out[i] = hook.Given{Chosen: message.ListOf(g.Chosen...), Text: g.Text}
	}
	return hook.Response{Given: message.Freeze(out)}
}

// Error says why a request was refused or failed.
type Error struct {
	// Code is for programs.
	Code Code `json:"code"`
	// Message says what is wrong, where, and what to do. It is for people.
	Message string `json:"message"`
}

// Failure is the body of every response with a status of 400 or more.
type Failure struct {
	Error Error `json:"error"`
}

// Code is a kind of error.
type Code string

// The kinds of error.
const (
	CodeInvalid      Code = "invalid"           // the request has a mistake
	CodeUnauthorized Code = "unauthorized"      // there is no token, or none that counts
	CodeForbidden    Code = "forbidden"         // the client may not do this
	CodeTooMany      Code = "too_many"          // the client has sent too many requests
	CodeNotFound     Code = "not_found"         // nothing has that name
	CodeMethod       Code = "method"            // the path has no such method
	CodeExists       Code = "exists"            // the name is taken
	CodeBusy         Code = "busy"              // a turn of the conversation is running
	CodeAnswered     Code = "answered"          // the inquiry or the ask has an answer, or has ended
	CodeIdle         Code = "idle"              // there is nothing to resume, to steer or to compact
	CodeSkipped      Code = "skipped"           // a hook prevented the operation
	CodeAgentGone    Code = "agent_gone"        // the conversation's agent is not registered
	CodeProject      Code = "project"           // the conversation belongs to another project
	CodeTooLarge     Code = "too_large"         // the body is too long
	CodeMedia        Code = "unsupported_media" // the Content-Type is wrong
	CodeTooSlow      Code = "too_slow"          // the body did not come in time
	CodeModel        Code = "model"             // the model failed, or its answer cannot be used
	CodeConfig       Code = "configuration"     // a file of the project has a mistake
	CodeUnavailable  Code = "unavailable"       // the daemon is shutting down
	CodeNoNode       Code = "no_node"           // no daemon that runs now has the project of the conversation
	CodeStorage      Code = "storage"           // the disk is full
	CodeInternal     Code = "internal"          // the daemon failed
)
