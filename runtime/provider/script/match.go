package script

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// view is a request in the form that conditions need.
type view struct {
	req message.ModelRequest
	// begin is the index of the user's last message, -1 if there is none.
	begin int
	user  string
	// step counts the model calls of the turn.
	step int
	// walked is how many messages of the history were counted. turns and calls are the
	// numbers of turns and calls in them; said: the last of them is a user's.
	walked, turns, calls int
	said                 bool
}

func (v *view) look() {
	v.begin, v.step = -1, 1
	for i := v.req.Messages.Len() - 1; i >= 0; i-- {
		m := v.req.Messages.At(i)
		if m.Role == message.RoleAssistant {
			v.step++
		}
		if m.Role == message.RoleUser && m.Label == "" {
			v.begin, v.user = i, m.Text()
			return
		}
	}
}

// context returns the messages that are not the user's own, but a hook's.
func (v *view) context() string {
	var out []string
	for _, m := range v.req.Messages.All() {
		if m.Role == message.RoleUser && m.Label != "" {
			out = append(out, m.Text())
		}
	}
	return strings.Join(out, "\n")
}

// next counts one more message of the history; false at its end. Consecutive user messages
// are one input.
func (v *view) next() bool {
	if v.walked == v.req.Messages.Len() {
		return false
	}
	m := v.req.Messages.At(v.walked)
	v.walked++
	switch {
	case m.Role == message.RoleAssistant:
		v.calls++
		v.said = false
	case m.Role == message.RoleUser && m.Label == "" && !v.said:
		v.turns++
		v.said = true
	}
	return true
}

// isTurn and isCall report whether this is turn or model call n of the conversation. They
// stop counting just behind n, because conversations are long.
func (v *view) isTurn(n int) bool {
	for v.turns <= n && v.next() {
	}
	return max(v.turns, 1) == n
}

func (v *view) isCall(n int) bool {
	for v.calls < n && v.next() {
	}
	return v.calls+1 == n
}

// count walks the whole history and returns the numbers of the turn and the call.
func (v *view) count() (turn, call int) {
	for v.next() {
	}
	return max(v.turns, 1), v.calls + 1
}

// result returns the newest result of the turn for which fits is true.
func (v *view) result(fits func(message.Message) bool) (string, bool) {
	for i := v.req.Messages.Len() - 1; i > v.begin; i-- {
		if m := v.req.Messages.At(i); m.Role == message.RoleTool && fits(m) {
			return m.Result.Text(), true
		}
	}
	return "", false
}

func (v *view) offers(tool string) bool {
	for _, t := range v.req.Tools.Tools().All() {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// conditions is a compiled When.
type conditions struct {
	When
	user, system, context, model textTest
	results                      []resultTest
}

type textTest struct {
	Text
	re *regexp.Regexp
}

type resultTest struct {
	tool   string
	text   textTest
	failed *bool
}

// The conditions that can fail; a failed result is missResult plus its index.
const (
	fits = iota
	missTurn
	missStep
	missCall
	missUser
	missSystem
	missContext
	missModel
	missTools
	missNoTools
	missResult
)

func (r *Rule) conditions(sequence *int) (conditions, []problem) {
	var c conditions
	if r.When == nil {
		*sequence++
		c.Call = *sequence
		return c, nil
	}
	c.When = *r.When
	var bad []problem
	compile := func(field string, t Text) textTest {
		test := textTest{Text: t}
		if t.Matches == "" {
			return test
		}
		re, err := regexp.Compile(t.Matches)
		if err != nil {
			bad = append(bad, problem{field, fmt.Sprintf("%v; mend the expression", err)})
		}
		test.re = re
		return test
	}
	c.user = compile("when.user", c.User)
	c.system = compile("when.system", c.System)
	c.context = compile("when.context", c.Context)
	c.model = compile("when.model", c.Model)
	for i, res := range c.Results {
		field := fmt.Sprintf("when.result[%d]", i)
		c.results = append(c.results, resultTest{res.Tool, compile(field, res.Text), res.Failed})
	}
	if c.Turn < 0 || c.Step < 0 || c.Call < 0 {
		bad = append(bad, problem{"when", "turn, step and call count from 1"})
	}
	return c, bad
}

// missed returns the first condition that does not hold, the cheap ones first.
func (c *conditions) missed(v *view) int {
	switch {
	case c.Step > 0 && c.Step != v.step:
		return missStep
	case c.Turn > 0 && !v.isTurn(c.Turn):
		return missTurn
	case c.Call > 0 && !v.isCall(c.Call):
		return missCall
	case !c.user.holds(v.user):
		return missUser
	case !c.system.holds(v.req.System):
		return missSystem
	case c.Context != Text{} && !c.context.holds(v.context()):
		return missContext
	case !c.model.holds(v.req.Model.Name):
		return missModel
	}
	return c.missedTools(v)
}

func (c *conditions) missedTools(v *view) int {
	for _, t := range c.Tools {
		if !v.offers(t) {
			return missTools
		}
	}
	for _, t := range c.NoTools {
		if v.offers(t) {
			return missNoTools
		}
	}
	for i := range c.results {
		if _, ok := v.result(c.results[i].holds); !ok {
			return missResult + i
		}
	}
	return fits
}

func (t *textTest) holds(s string) bool {
	return (t.Contains == "" || strings.Contains(s, t.Contains)) &&
		(t.Equals == "" || s == t.Equals) &&
		(t.re == nil || t.re.MatchString(s))
}

func (r *resultTest) holds(m message.Message) bool {
	if r.tool != "" && m.Tool != r.tool || r.failed != nil && m.Result.IsError() != *r.failed {
		return false
	}
	return r.text.Text == Text{} || r.text.holds(m.Result.Text())
}

func (c *conditions) explain(miss int, v *view) string {
	switch miss {
	case missTurn:
		return fmt.Sprintf("it is for turn %d", c.Turn)
	case missStep:
		return fmt.Sprintf("it is for step %d", c.Step)
	case missCall:
		_, call := v.count()
		return fmt.Sprintf("it is for model call %d, this is %d", c.Call, call)
	case missUser:
		return "the user's message " + c.user.missing()
	case missSystem:
		return "the system prompt " + c.system.missing()
	case missContext:
		return "the context " + c.context.missing()
	case missModel:
		return "the model " + c.model.missing()
	case missTools:
		return "not all of these tools are offered: " + joined(c.Tools)
	case missNoTools:
		return "one of these tools is offered: " + joined(c.NoTools)
	}
	return c.results[miss-missResult].missing()
}

func (t *textTest) missing() string {
	var parts []string
	if t.Contains != "" {
		parts = append(parts, fmt.Sprintf("contain %q", t.Contains))
	}
	if t.Equals != "" {
		parts = append(parts, fmt.Sprintf("equal %q", t.Equals))
	}
	if t.Matches != "" {
		parts = append(parts, fmt.Sprintf("match %q", t.Matches))
	}
	return "does not " + strings.Join(parts, " and ")
}

func (r *resultTest) missing() string {
	s := "this turn has no"
	if r.failed != nil {
		s += map[bool]string{true: " failed", false: " successful"}[*r.failed]
	}
	s += " result"
	if r.tool != "" {
		s += " of " + r.tool
	}
	if r.text.Text != (Text{}) {
		s += "; or it " + r.text.missing()
	}
	return s
}

// expressions returns the rule's regular expressions with their texts.
func (c *conditions) expressions() []expression {
	var out []expression
	add := func(t *textTest, text func(*view) string) {
		if t.re != nil {
			out = append(out, expression{t.re, text})
		}
	}
	add(&c.user, func(v *view) string { return v.user })
	add(&c.system, func(v *view) string { return v.req.System })
	add(&c.context, (*view).context)
	add(&c.model, func(v *view) string { return v.req.Model.Name })
	for i := range c.results {
		r := &c.results[i]
		add(&r.text, func(v *view) string {
			s, _ := v.result(r.holds)
			return s
		})
	}
	return out
}
