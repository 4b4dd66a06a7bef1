package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Rules are the rules from one place, with a default. An agent's section "policy" has the
// same form.
type Rules struct {
	// Default applies to calls without a matching rule; "" leaves it to the other Rules.
	// Of several defaults the strictest counts.
	Default Default `json:"default,omitzero"`
	// Deny, Ask and Allow are the rules. Their order does not matter.
	Deny  []Rule `json:"deny,omitempty"`
	Ask   []Rule `json:"ask,omitempty"`
	Allow []Rule `json:"allow,omitempty"`
	// AllowSafeCommands lets commands run without a question that only read the project, print and end, and that no rule asks for
	// or denies. Without it every command needs a rule. It holds if one of several Rules has it.
	AllowSafeCommands bool `json:"allow_safe_commands,omitzero"`
	// Source names the file of the rules in errors and explanations.
	Source string `json:"-"`
}

// Rule is one rule. In JSON it is a text, or an object if it has a grant or senders.
type Rule struct {
	// Rule is a tool, or a tool and a pattern for its argument: "Bash(git log *)". The
	// package's README has the whole syntax.
	Rule string `json:"rule"`
	// Grant limits the calls that match; the zero Grant limits nothing. A deny rule has
	// none.
	Grant Grant `json:"grant,omitzero"`
	// Senders are the senders for which the rule holds, or patterns of them
	// ([message.MatchName]): "gateway:*". Nil is all of them; empty is an error. The
	// calls of a child agent have the sender of the turn that a user started. Where the
	// sender is not known, deny and ask rules hold and allow rules do not.
	Senders []string `json:"senders,omitempty"`
}

// Grant is [hook.Grant] in the form of a rule. The owner of the tool enforces it;
// the runtime enforces max_output and timeout for every tool.
type Grant struct {
	// ReadOnly: no change to files or elsewhere.
	ReadOnly bool `json:"read_only,omitzero"`
	// NoNetwork: nothing beyond this machine.
	NoNetwork bool `json:"no_network,omitzero"`
	// Root is the directory below which files may be touched: relative to the
	// policy's root, or absolute and inside it.
	Root string `json:"root,omitzero"`
	// Timeout limits the execution, in the form of [time.ParseDuration]: "30s".
	Timeout string `json:"timeout,omitzero"`
	// MaxOutput limits the output in bytes.
	MaxOutput int `json:"max_output,omitzero"`
}

// Default is the answer to calls without a matching rule.
type Default string

// The defaults, from the strictest to the mildest.
const (
	DefaultDeny Default = "deny"
	DefaultAsk  Default = "ask"
	// DefaultAnnotations asks if the tool is annotated as destructive or open-world, and
	// has no opinion otherwise.
	DefaultAnnotations Default = "annotations"
	// DefaultAllow has no opinion.
	DefaultAllow Default = "allow"
)

// rank orders the defaults, the strictest last; 0 is unset, -1 is unknown.
func (d Default) rank() int {
	switch d {
	case "":
		return 0
	case DefaultAllow:
		return 1
	case DefaultAnnotations:
		return 2
	case DefaultAsk:
		return 3
	case DefaultDeny:
		return 4
	}
	return -1
}

// UnmarshalJSON also accepts the text of a rule instead of an object.
func (r *Rule) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*r = Rule{}
		return json.Unmarshal(data, &r.Rule)
	}
	type plain Rule
	return json.Unmarshal(data, (*plain)(r), json.RejectUnknownMembers(true))
}

// MarshalJSON writes a rule without a grant and senders as a text.
func (r Rule) MarshalJSON() ([]byte, error) {
	if r.Grant == (Grant{}) && r.Senders == nil {
		return json.Marshal(r.Rule)
	}
	type plain Rule
	return json.Marshal(plain(r))
}

// Parse reads rules from JSON:
//
//	{"default": "annotations",
//	 "deny": ["Bash(rm *)"], "ask": ["Bash(git push *)"],
//	 "allow": ["Bash(git *)", {"rule": "Write(src/**)", "grant": {"root": "src"}}]}
//
// source names the text in errors and explanations. Unknown and repeated keys and values
// of the wrong kind are errors with line and column. [New] checks the rules themselves.
func Parse(data []byte, source string) (Rules, error) {
	var r Rules
	err := json.Unmarshal(data, &r, json.RejectUnknownMembers(true))
	if err != nil {
		return Rules{}, fmt.Errorf("%s%s: %w; write {\"allow\": [\"Bash(git *)\"], \"ask\": […], \"deny\": […], \"default\": \"annotations\"}",
			source, position(data, err), reason(err))
	}
	r.Source = source
	return r, nil
}

// position returns the error's ":line:column"; "" if it has none.
func position(data []byte, err error) string {
	offset := int64(-1)
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = e.ByteOffset
	} else if e, ok := errors.AsType[*json.SemanticError](err); ok {
		offset = e.ByteOffset
	}
	if offset < 0 || offset > int64(len(data)) {
		return ""
	}
	before := data[:offset]
	return fmt.Sprintf(":%d:%d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}

// reason returns the error in terms of the file instead of Go types.
func reason(err error) error {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "jsontext: "), " after offset ")
		return errors.New(text)
	}
	at := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("the key %s is unknown", at)
	case at == "":
		return errors.New("the rules are no object")
	}
	return fmt.Errorf("%s is of the wrong kind", at)
}

// Tightened returns the rules without allow rules and AllowSafeCommands, and without a default milder than
// annotations. dropped has the allow rules. It is for rules from a source that may only
// restrict.
func (r Rules) Tightened() (tight Rules, dropped []Rule) {
	dropped, r.Allow = r.Allow, nil
	r.AllowSafeCommands = false
	if r.Default == DefaultAllow {
		r.Default = ""
	}
	return r, dropped
}

// Loosens reports whether the rules allow something.
func (r Rules) Loosens() bool {
	return len(r.Allow) > 0 || r.AllowSafeCommands || r.Default == DefaultAllow
}

// JSON returns the rules in the form of [Parse] and of a section. Text that is not UTF-8
// is an error.
func (r Rules) JSON() (message.JSON, error) {
	data, err := json.Marshal(r)
	return message.JSON(data), err
}

// Effect is the effect of a rule.
type Effect string

// The effects.
const (
	Deny  Effect = "deny"
	Ask   Effect = "ask"
	Allow Effect = "allow"
)

func (r Rules) of(e Effect) []Rule {
	switch e {
	case Deny:
		return r.Deny
	case Ask:
		return r.Ask
	}
	return r.Allow
}

// section is the name of the rules' section in an agent's configuration.
const section = "policy"

// sectionOf reads an agent's rules; false if it has none.
func sectionOf(cfg *hook.AgentConfig) (Rules, bool, error) {
	if cfg == nil {
		return Rules{}, false, nil
	}
	rules, found, err := hook.SectionOf[Rules](cfg, section)
	rules.Source = "section " + section
	return rules, found, err
}
