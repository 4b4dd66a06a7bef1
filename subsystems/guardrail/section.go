package guardrail

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/schema"
	"github.com/grapnel-go/grapnel/internal/sensitive"
)

// Section is the section "guardrail" of an agent. Without it nothing is checked.
type Section struct {
	// Input are the checks of what people say, also to a running turn. It is checked with all that was attached to it.
	Input []Check `json:"input,omitempty"`
	// Output are the checks of replies, of this agent and of those that it runs.
	Output []Check `json:"output,omitempty"`
	// Retries is how often a turn's replies go back to the model, 1 to 3; 0 is DefaultRetries.
	Retries int `json:"retries,omitempty"`
	// Timeout bounds the review of one text by a model, such as "20s"; "" is DefaultTimeout.
	Timeout string `json:"timeout,omitempty"`
}

// Check is one check. It has one of Match, Require, Find, Schema and Rule.
type Check struct {
	// Name names the check for people; "" is its kind and its number.
	Name string `json:"name,omitempty"`
	// Match is a regular expression (RE2) that no text may match.
	Match string `json:"match,omitempty"`
	// Require is a regular expression (RE2) that a text has to match.
	Require string `json:"require,omitempty"`
	// Find are the classes of what a text may not have: secret, personal.
	Find []sensitive.Class `json:"find,omitempty"`
	// Schema is a JSON Schema that an input or a final reply has to fit.
	Schema message.JSON `json:"schema,omitempty"`
	// Rule says in words what a text has to keep to. A model judges that.
	Rule string `json:"rule,omitempty"`
	// Model judges the rule; "" is the agent's.
	Model string `json:"model,omitempty"`
	// Action is what becomes of a text that does not pass; "" is Block.
	Action Action `json:"action,omitempty"`
	// Say is what the sender of an input hears, and what the model hears when its reply is returned; "" says which check it was.
	Say string `json:"say,omitempty"`
	// FailOpen lets a text pass that could not be judged, with a diagnostic. Otherwise it does not pass.
	FailOpen bool `json:"fail_open,omitempty"`
}

// Action is what becomes of a text that does not pass.
type Action string

// The actions.
const (
	// Block is the default: an input ends its turn, and a reply fails it. Nobody sees the reply.
	Block Action = "block"
	// Retry drops a reply, and asks the model again. When it has been asked often enough, the reply is blocked.
	Retry Action = "retry"
	// Redact masks what Match and Find have found. Only the masked text is shown and stored.
	Redact Action = "redact"
	// Warn only says so.
	Warn Action = "warn"
)

// Defaults of [Section].
const (
	DefaultRetries = 1
	DefaultTimeout = 20 * time.Second
)

// Limits of a section.
const (
	maxRetries = 3 // a step asks its model that often again
	maxChecks  = 32
	maxText    = 16 << 10
	maxTimeout = 10 * time.Minute
)

// checks are a section, ready for use.
type checks struct {
	input, output []check
	retries       int
}

// check is a Check, ready for use.
type check struct {
	Check
	pattern *regexp.Regexp
	schema  *schema.Schema
	timeout time.Duration
}

// checksOf returns the checks of the agent; ok is false if it has no section.
func checksOf(cfg *hook.AgentConfig) (c checks, ok bool, err error) {
	s, ok, err := hook.SectionOf[Section](cfg, "guardrail")
	if err != nil || !ok {
		return c, ok, err
	}
	problem := func(format string, args ...any) error {
		return fmt.Errorf("agent %q: section guardrail: %s", cfg.Name, fmt.Sprintf(format, args...))
	}
	timeout := DefaultTimeout
	if s.Timeout != "" {
		if timeout, err = time.ParseDuration(s.Timeout); err != nil || timeout <= 0 || timeout > maxTimeout {
			return c, ok, problem("timeout: %.40q; write a time up to %s, such as 20s", s.Timeout, maxTimeout)
		}
	}
	if c.retries = cmp.Or(s.Retries, DefaultRetries); c.retries < 1 || c.retries > maxRetries {
		return c, ok, problem("retries: %d; write a number from 1 to %d", s.Retries, maxRetries)
	}
	for name, list := range map[string][]Check{"input": s.Input, "output": s.Output} {
		if len(list) > maxChecks {
			return c, ok, problem("%s: %d checks; write at most %d", name, len(list), maxChecks)
		}
		made := make([]check, len(list))
		for i, one := range list {
			if made[i], err = compile(one, i+1, timeout, name == "input"); err != nil {
				return c, ok, problem("%s[%d]: %v", name, i, err)
			}
		}
		if name == "input" {
			c.input = made
		} else {
			c.output = made
		}
	}
	return c, ok, nil
}

func compile(in Check, number int, timeout time.Duration, input bool) (c check, err error) {
	c = check{Check: in, timeout: timeout}
	kind, err := in.kind()
	if err != nil {
		return c, err
	}
	c.Name, c.Action = cmp.Or(in.Name, fmt.Sprintf("%s %d", kind, number)), cmp.Or(in.Action, Block)
	switch {
	case !slices.Contains([]Action{Block, Retry, Redact, Warn}, c.Action):
		return c, fmt.Errorf("action: %.40q; write block, retry, redact or warn", c.Action)
	case c.Action == Retry && input:
		return c, fmt.Errorf("action: an input comes from a person and is not asked for again; write block or warn")
	case c.Action == Redact && kind != "match" && kind != "find":
		return c, fmt.Errorf("action: %s finds no place that could be masked; write block, retry or warn", kind)
	case in.Model != "" && kind != "rule":
		return c, fmt.Errorf("model: only a rule is judged by a model")
	case in.FailOpen && kind != "rule":
		return c, fmt.Errorf("fail_open: only the judgement of a rule can fail")
	case max(len(in.Match), len(in.Require), len(in.Rule), len(in.Say), len(in.Schema)) > maxText:
		return c, fmt.Errorf("a text of more than %d bytes", maxText)
	}
	switch kind {
	case "match", "require":
		if c.pattern, err = regexp.Compile(in.Match + in.Require); err != nil {
			return c, fmt.Errorf("%s: %w", kind, err)
		}
		if c.Action == Redact && c.pattern.MatchString("") {
			return c, fmt.Errorf("match: %.40q fits the empty text, so there would be nothing to mask", in.Match)
		}
	case "find":
		for _, class := range in.Find {
			if class != sensitive.Secret && class != sensitive.Personal {
				return c, fmt.Errorf("find: %.40q; write secret or personal", class)
			}
		}
	case "schema":
		if c.schema, err = schema.Compile(in.Schema); err != nil {
			err = fmt.Errorf("schema: %w", err)
		}
	}
	return c, err
}

// kind returns which of its five members the check has.
func (c Check) kind() (string, error) {
	var kinds []string
	for kind, has := range map[string]bool{
		"match": c.Match != "", "require": c.Require != "", "find": len(c.Find) > 0, "schema": c.Schema != "", "rule": c.Rule != "",
	} {
		if has {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) != 1 {
		return "", fmt.Errorf("it has %d of match, require, find, schema and rule; a check has one of them", len(kinds))
	}
	return kinds[0], nil
}
