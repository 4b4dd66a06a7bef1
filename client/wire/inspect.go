package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Prompt is what the model of an agent is told before the history.
type Prompt struct {
	Agent string `json:"agent"`
	Model string `json:"model,omitzero"`
	// Turn is the agent's last one, whose parts are there; left out without one.
	Turn string `json:"turn,omitzero"`
	// Tokens estimates all parts, and the tools that are offered.
	Tokens int64        `json:"tokens"`
	Parts  []PromptPart `json:"parts"`
	Tools  []PromptTool `json:"tools"`
	// ToolTokens estimates the schemas at the begin of a conversation, and Searched is how many tools are behind a search then.
	ToolTokens int64 `json:"tool_tokens"`
	Searched   int   `json:"searched,omitzero"`
	// Sections are the agent's settings of subsystems, by their names.
	Sections map[string]any `json:"sections"`
	// Instructions are the project's files of the next turn, then those that are left out.
	Instructions []PromptFile `json:"instructions"`
	// InstructionsOff says who has turned them off; left out for nobody.
	InstructionsOff string `json:"instructions_off,omitzero"`
}

// PromptPart is a part of a prompt.
type PromptPart struct {
	// Contributor is "agent" for its own instructions, "runtime", or the path of a subsystem.
	Contributor string `json:"contributor"`
	// Point is the hook point, or "instructions", "environment" and "scope", which are no points.
	Point string `json:"point"`
	ID    string `json:"id,omitzero"`
	Text  string `json:"text"`
	// Tokens is an estimate.
	Tokens int64 `json:"tokens"`
}

// PromptTool is a tool that a model is told of.
type PromptTool struct {
	Name   string `json:"name"`
	Owner  string `json:"owner"`
	Tokens int64  `json:"tokens"`
}

// PromptFile is an instruction file of the project.
type PromptFile struct {
	Path string `json:"path"`
	// ImportedBy is the file that imports it; left out if its name makes it one.
	ImportedBy string `json:"imported_by,omitzero"`
	Tokens     int64  `json:"tokens"`
	// Note says why it is cut or left out.
	Note string `json:"note,omitzero"`
}

// Models are the models that the daemon knows.
type Models struct {
	// Date is the day up to which prices were looked up.
	Date string `json:"date"`
	// Default is the model of agents that name none; left out without one.
	Default string   `json:"default,omitzero"`
	Models  []Model  `json:"models"`
	Vendors []Vendor `json:"vendors"`
}

// Model is one model.
type Model struct {
	// Model is its id, vendor:name.
	Model   string   `json:"model"`
	Name    string   `json:"name,omitzero"`
	Aliases []string `json:"aliases,omitzero"`
	// Window and Output are the tokens of a request with its answer, and of one answer; left out where they are not known.
	Window int `json:"window,omitzero"`
	Output int `json:"output,omitzero"`
	// Price is that of a short request now; nil is unknown.
	Price   *Price   `json:"price"`
	Prices  []Price  `json:"prices"`
	Accepts []string `json:"accepts"`
	// Key: there is one for its vendor.
	Key    bool   `json:"key"`
	Source string `json:"source"`
	Date   string `json:"date,omitzero"`
}

// Price is in US dollars per million tokens.
type Price struct {
	// From is the first day of the price; left out for always. Above limits it to requests with more tokens of input.
	From       string   `json:"from,omitzero"`
	Above      int64    `json:"above,omitzero"`
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read,omitzero"`
	CacheWrite *float64 `json:"cache_write,omitzero"`
}

// Vendor is who serves models.
type Vendor struct {
	Vendor string `json:"vendor"`
	Models int    `json:"models"`
	Key    bool   `json:"key"`
	// Hint is what to set to use it.
	Hint string `json:"hint,omitzero"`
}

// Spending is what the models have cost in a project.
type Spending struct {
	// By is what it is added up by: model, agent or day.
	By string `json:"by"`
	// Since is the first day; left out for all.
	Since string  `json:"since,omitzero"`
	Spent []Spent `json:"spent"`
	Total Spent   `json:"total"`
}

// Spent is what calls have used up together.
type Spent struct {
	Name  string `json:"name"`
	Calls int64  `json:"calls"`
	// Unpriced are calls without a known price, Estimated calls whose usage was not reported.
	Unpriced  int64         `json:"unpriced"`
	Estimated int64         `json:"estimated"`
	Usage     message.Usage `json:"usage"`
	// Cost is in billionths of a dollar.
	Cost hook.Cost `json:"cost"`
}

// Audit are records of what agents did and who allowed it.
type Audit struct {
	Entries []AuditEntry `json:"entries"`
	// Next is what before has to be for older ones; left out if there are none.
	Next string `json:"next,omitzero"`
	// Verified: every record of the daemon was checked, and none was changed or is missing. Problem says why it is not.
	Verified bool   `json:"verified"`
	Problem  string `json:"problem,omitzero"`
	// Off: no agent of the project is recorded now.
	Off bool `json:"off,omitzero"`
}

// AuditEntry is one record, without contents.
type AuditEntry struct {
	// N is its number in the record of its node.
	N            int64           `json:"n"`
	Time         time.Time       `json:"time"`
	Kind         string          `json:"kind"` // that of the event
	Node         string          `json:"node,omitzero"`
	Agent        string          `json:"agent"`
	Conversation string          `json:"conversation,omitzero"`
	Turn         string          `json:"turn,omitzero"`
	Step         int             `json:"step,omitzero"`
	Depth        int             `json:"depth,omitzero"`
	Call         string          `json:"call,omitzero"`
	Tool         string          `json:"tool,omitzero"`
	Decision     string          `json:"decision,omitzero"`
	By           string          `json:"by,omitzero"`
	Stop         hook.StopReason `json:"stop,omitzero"`
	Usage        message.Usage   `json:"usage,omitzero"`
	Cost         hook.Cost       `json:"cost,omitzero"`
	// SHA256 has the digests of the text, the arguments and the result that it is about.
	SHA256 map[string]string `json:"sha256,omitzero"`
}
