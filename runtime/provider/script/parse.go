package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/yamldoc"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Error is one mistake in a script.
type Error struct {
	// File is the name given to Parse; Line counts from 1, 0 is the whole file.
	File string
	Line int
	// Text names the mistake and its correction.
	Text string
}

// Error returns file:line: text.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Parse reads a script in YAML; errors name it by name. The error joins an *Error for each
// mistake, in the order of the lines.
func Parse(name string, data []byte) (*Script, error) {
	p := parser{file: name}
	root := p.document(data)
	s := &Script{name: name}
	if root != nil {
		s.rules = p.rules(root)
		s.format, s.window = p.model(root)
	}
	if len(p.errs) == 0 {
		return s, nil
	}
	slices.SortStableFunc(p.errs, func(a, b *Error) int { return a.Line - b.Line })
	errs := make([]error, len(p.errs))
	for i, e := range p.errs {
		errs[i] = e
	}
	return nil, errors.Join(errs...)
}

// parser reads the tree of a file and collects its mistakes.
type parser struct {
	file string
	errs []*Error
	// at has the nodes of the current rule's fields, by their names in problems.
	at map[string]*yaml.Node
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	line := 0
	if n != nil {
		line = n.Line
	}
	p.errs = append(p.errs, &Error{p.file, line, fmt.Sprintf(format, args...)})
}

func (p *parser) document(data []byte) *yaml.Node {
	root, err := yamldoc.Parse(data)
	switch e, bad := errors.AsType[*yamldoc.Error](err); {
	case bad:
		p.errs = append(p.errs, &Error{p.file, e.Line, "the script " + e.What + "; " + e.Fix})
	case root == nil:
		p.fail(nil, "is empty; a script has a list `rules:`")
	}
	return root
}

func (p *parser) rules(root *yaml.Node) []rule {
	top := p.mapping(root, "a script", "rules", "pace", "format", "context_window")
	list := top.node("rules")
	if list == nil {
		if top != nil {
			p.fail(root, "`rules:` is missing; a script is a list of rules")
		}
		return nil
	}
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		p.fail(list, "rules must be a list with at least one rule")
		return nil
	}
	pace := p.pace(top.node("pace"))
	sequence := 0
	out := make([]rule, 0, len(list.Content))
	for _, n := range list.Content {
		p.at = map[string]*yaml.Node{"": n}
		before := len(p.errs)
		r := p.rule(n, pace)
		c, problems := compile(r, fmt.Sprintf("line %d", n.Line), &sequence)
		if len(p.errs) > before {
			problems = slices.DeleteFunc(problems, func(b problem) bool { return b.field == "" })
		}
		for _, b := range problems {
			p.problem(b)
		}
		out = append(out, c)
	}
	return out
}

// model reads what the script says about its model.
func (p *parser) model(root *yaml.Node) (format bool, window int) {
	if root.Kind != yaml.MappingNode {
		return false, 0 // recorded already
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		n := root.Content[i+1]
		switch root.Content[i].Value {
		case "format":
			if n.Decode(&format) != nil {
				p.fail(n, "format must be true, for a model with a response format of its own, or false")
			}
		case "context_window":
			if n.Decode(&window) != nil || window <= 0 {
				p.fail(n, "context_window must be a number of tokens, such as 8000")
			}
		}
	}
	return format, window
}

// problem reports a mistake that compile found, at the field or the nearest one around it.
func (p *parser) problem(b problem) {
	text := b.text
	if b.field != "" {
		text = b.field + ": " + b.text
	}
	field := b.field
	for p.at[field] == nil && field != "" {
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	p.fail(p.at[field], "%s", text)
}

func (p *parser) rule(n *yaml.Node, pace Pace) Rule {
	m := p.mapping(n, "a rule", "name", "when", "reason", "say", "calls", "finish", "usage", "error", "pace")
	for key, value := range m {
		p.at[key] = value
	}
	r := Rule{
		Name: p.text(m.node("name"), "name"), Reason: p.text(m.node("reason"), "reason"),
		Say: p.text(m.node("say"), "say"), Finish: message.FinishReason(p.text(m.node("finish"), "finish")),
		When: p.when(m.node("when")), Calls: p.calls(m.node("calls")), Usage: p.usage(m.node("usage")), Pace: pace,
	}
	if e := m.node("error"); e != nil {
		r.Err = p.failure(e)
	}
	if own := m.node("pace"); own != nil {
		r.Pace = p.pace(own)
	}
	return r
}

// failure reads the error of a rule: a text, or a text with a class.
func (p *parser) failure(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New(p.text(n, "error"))
	}
	classes := []message.FailureClass{
		message.FailureRateLimit, message.FailureOverloaded, message.FailureServer, message.FailureTimeout, message.FailureNetwork,
		message.FailureContext, message.FailureAuth, message.FailureRequest, message.FailureContent, message.FailureProtocol, message.FailureTooLarge, message.FailureUnknown,
	}
	m := p.mapping(n, "error", "text", "class", "retry_after")
	text, class := p.word(m.node("text"), "text"), message.FailureClass(p.word(m.node("class"), "class"))
	if class != "" && !slices.Contains(classes, class) {
		p.fail(m.node("class"), "class: unknown class %q; write one of %s", class, joined(classes))
	}
	if text == "" {
		text = "the model failed"
	}
	return &provider.Error{Class: class, RetryAfter: p.duration(m.node("retry_after"), "retry_after"), Err: errors.New(text)}
}

func (p *parser) when(n *yaml.Node) *When {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode && n.Value == "always":
		return &When{}
	case n.Kind != yaml.MappingNode || len(n.Content) == 0:
		p.fail(n, "when must be a mapping of conditions or `always`; leave it out for the next rule in order")
		return &When{}
	}
	m := p.mapping(n, "when", "user", "system", "context", "model", "result", "tools", "no_tools", "turn", "step", "call")
	for key, value := range m {
		p.at["when."+key] = value
	}
	w := &When{
		User: p.test(m.node("user"), "user"), System: p.test(m.node("system"), "system"),
		Context: p.test(m.node("context"), "context"), Model: p.test(m.node("model"), "model"),
		Tools: p.names(m.node("tools"), "tools"), NoTools: p.names(m.node("no_tools"), "no_tools"),
		Turn: p.ordinal(m.node("turn"), "turn"), Step: p.ordinal(m.node("step"), "step"), Call: p.ordinal(m.node("call"), "call"),
	}
	for i, item := range items(m.node("result")) {
		p.at[fmt.Sprintf("when.result[%d]", i)] = item
		w.Results = append(w.Results, p.result(item))
	}
	return w
}

func (p *parser) test(n *yaml.Node, what string) Text {
	if n == nil || n.Kind == yaml.ScalarNode {
		return Text{Contains: p.word(n, what)}
	}
	return p.tests(p.mapping(n, what, "contains", "equals", "matches"))
}

func (p *parser) tests(m fields) Text {
	return Text{
		Contains: p.word(m.node("contains"), "contains"),
		Equals:   p.word(m.node("equals"), "equals"),
		Matches:  p.word(m.node("matches"), "matches"),
	}
}

func (p *parser) result(n *yaml.Node) Result {
	if n.Kind == yaml.ScalarNode {
		return Result{Tool: p.word(n, "result")}
	}
	m := p.mapping(n, "result", "tool", "failed", "contains", "equals", "matches")
	r := Result{Tool: p.word(m.node("tool"), "tool"), Text: p.tests(m)}
	if f := m.node("failed"); f != nil {
		var is bool
		if f.Decode(&is) != nil {
			p.fail(f, "failed must be true or false")
		}
		r.Failed = &is
	}
	return r
}

func (p *parser) calls(n *yaml.Node) []Call {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.fail(n, "calls must be a list: `- {tool: NAME, args: {…}}`")
		return nil
	}
	var out []Call
	for i, item := range n.Content {
		m := p.mapping(item, "a call", "tool", "args", "id", "raw")
		p.at[fmt.Sprintf("calls[%d]", i)] = item
		for key, value := range m {
			p.at[fmt.Sprintf("calls[%d].%s", i, key)] = value
		}
		c := Call{Tool: p.text(m.node("tool"), "tool"), ID: p.text(m.node("id"), "id"), Raw: p.word(m.node("raw"), "raw")}
		if a := m.node("args"); a != nil {
			c.Args = message.JSON(p.json(a))
		}
		out = append(out, c)
	}
	return out
}

func (p *parser) usage(n *yaml.Node) *message.Usage {
	if n == nil {
		return nil
	}
	m := p.mapping(n, "usage", "input", "output", "cache_read", "cache_write", "reasoning")
	return &message.Usage{
		Input: p.count(m.node("input"), "input"), Output: p.count(m.node("output"), "output"),
		CacheRead: p.count(m.node("cache_read"), "cache_read"), CacheWrite: p.count(m.node("cache_write"), "cache_write"),
		Reasoning: p.count(m.node("reasoning"), "reasoning"),
	}
}

func (p *parser) pace(n *yaml.Node) Pace {
	if n == nil || n.Kind == yaml.ScalarNode {
		return Pace{Delta: p.duration(n, "pace")}
	}
	m := p.mapping(n, "pace", "wait", "delta", "bytes")
	return Pace{
		Wait: p.duration(m.node("wait"), "wait"), Delta: p.duration(m.node("delta"), "delta"),
		Bytes: int(p.count(m.node("bytes"), "bytes")),
	}
}
