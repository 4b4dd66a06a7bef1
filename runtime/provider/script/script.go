package script

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// ErrNoRule is wrapped by the error of a stream if no rule answers the request.
var ErrNoRule = errors.New("no rule answers this request")

// Script answers requests by rules. It implements provider.Provider, is
// immutable and safe for concurrent use.
type Script struct {
	name  string
	rules []rule
	// format: the model has a response format of its own.
	format bool
	// window is the model's context window in tokens; 0 is unknown.
	window int
}

var (
	_ provider.Provider  = (*Script)(nil)
	_ provider.Formatter = (*Script)(nil)
	_ provider.Windowed  = (*Script)(nil)
)

// HasFormat implements [provider.Formatter]: it reports what the script says.
func (s *Script) HasFormat(string) bool { return s.format }

// Formatted returns the script as a model with a response format of its own.
func (s *Script) Formatted() *Script {
	c := *s
	c.format = true
	return &c
}

// ContextWindow implements [provider.Windowed]: it returns what the script says. The script
// itself answers requests of any size.
func (s *Script) ContextWindow(string) int { return s.window }

// rule is a compiled Rule.
type rule struct {
	Rule
	where       string // "line 4" or "rule 2", with the name if it has one
	when        conditions
	reason, say template
	args        []template
}

// problem is a mistake in one field of a rule.
type problem struct {
	field string // "say", "calls[1].args"
	text  string
}

// MaxSize is the size in bytes of the largest script.
const MaxSize = 4 << 20

// Load reads a script from a regular file of at most 4 MiB. The errors of the file name it and the line.
func Load(path string) (*Script, error) {
	data, err := conffile.Read(path, &conffile.Options{Max: MaxSize})
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return Parse(path, data)
}

// New returns the script of the rules. It panics if a rule is wrong, because rules in Go
// are part of the program.
func New(rules ...Rule) *Script {
	s := &Script{name: "script"}
	sequence := 0
	for i, r := range rules {
		c, problems := compile(r, "rule "+fmt.Sprint(i+1), &sequence)
		if len(problems) > 0 {
			panic(fmt.Sprintf("script: %s: %s: %s", c.where, problems[0].field, problems[0].text))
		}
		s.rules = append(s.rules, c)
	}
	return s
}

// compile compiles a rule; sequence counts the rules without When so far.
func compile(r Rule, where string, sequence *int) (rule, []problem) {
	c := rule{Rule: r, where: where}
	if r.Name != "" {
		c.where += fmt.Sprintf(" (%s)", r.Name)
	}
	var bad []problem
	c.when, bad = r.conditions(sequence)
	refs := references{results: c.when.results, exprs: c.when.expressions()}
	add := func(field, text string, escape bool) template {
		t, err := refs.parse(text, escape)
		if err != nil {
			bad = append(bad, problem{field, err.Error()})
		}
		return t
	}
	c.reason = add("reason", r.Reason, false)
	c.say = add("say", r.Say, false)
	for i, call := range r.Calls {
		field := fmt.Sprintf("calls[%d].", i)
		bad = append(bad, call.check(field)...)
		if call.Raw != "" {
			c.args = append(c.args, template{plain: call.Raw})
			continue
		}
		if call.Args == "" {
			call.Args = "{}"
		}
		c.args = append(c.args, add(field+"args", string(call.Args), true))
	}
	return c, append(bad, r.check()...)
}

func (r *Rule) check() (bad []problem) {
	finishes := []message.FinishReason{
		message.FinishStop, message.FinishTools, message.FinishLength, message.FinishFilter, message.FinishOther, FinishNone,
	}
	if r.Finish != "" && !slices.Contains(finishes, r.Finish) {
		bad = append(bad, problem{"finish", fmt.Sprintf("unknown finish %q; write one of %s", r.Finish, joined(finishes))})
	}
	if r.Err != nil && r.Finish != "" {
		bad = append(bad, problem{"finish", "a stream ends with an error or with a finish; leave one of them out"})
	}
	if r.Say == "" && r.Reason == "" && len(r.Calls) == 0 && r.Err == nil && r.Finish == "" {
		bad = append(bad, problem{"", "the rule answers nothing; write say, reason, calls or error, or finish: stop for an empty answer"})
	}
	if r.Pace.Wait < 0 || r.Pace.Delta < 0 || r.Pace.Bytes < 0 {
		bad = append(bad, problem{"pace", "is negative; write 0 or more"})
	}
	return bad
}

func (c *Call) check(field string) (bad []problem) {
	if c.Tool == "" {
		bad = append(bad, problem{field + "tool", "is missing; name the tool to call"})
	}
	if c.Raw != "" && c.Args != "" {
		bad = append(bad, problem{field + "raw", "stands beside args; leave one of them out"})
	}
	if c.Args != "" && !validJSON(string(c.Args)) {
		bad = append(bad, problem{field + "args", "is not JSON; arguments that shall be malformed go into raw"})
	}
	return bad
}

func joined[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// Stream answers the request by the first rule whose conditions hold. The stream ends with
// ctx's error as soon as ctx is done.
func (s *Script) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	a := &answer{view: view{req: req}, player: player{ctx: ctx}}
	return func(yield func(message.Chunk, error) bool) {
		a.player.yield = yield
		defer a.player.release()
		if s.play(a) || a.player.stopped {
			return
		}
		yield(message.Chunk{}, a.player.err)
	}
}

// answer is the state of one stream, in one allocation.
type answer struct {
	view   view
	player player
}

// play reports whether the stream reached its end; else the player has the reason.
func (s *Script) play(a *answer) bool {
	a.view.look()
	for i := range s.rules {
		if s.rules[i].when.missed(&a.view) == fits {
			return a.player.play(&s.rules[i], &a.view)
		}
	}
	a.player.err = s.noRule(&a.view)
	return false
}

// noRule returns the error that says for every rule why it does not answer.
func (s *Script) noRule(v *view) error {
	var sb strings.Builder
	for i := range s.rules {
		c := &s.rules[i]
		fmt.Fprintf(&sb, "\n  %s: %s", c.where, c.when.explain(c.when.missed(v), v))
	}
	if len(s.rules) == 0 {
		sb.WriteString("\n  the script has no rules")
	}
	turn, _ := v.count()
	return fmt.Errorf("%s: %w: turn %d, step %d, the user said %q%s\nadd a rule, or one with `when: always` at the end",
		s.name, ErrNoRule, turn, v.step, excerpt(v.user), sb.String())
}

func excerpt(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// expression is a compiled regular expression and the text that it is for.
type expression struct {
	re   *regexp.Regexp
	text func(*view) string
}
