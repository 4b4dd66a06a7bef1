package skills

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/offer"
)

// active is what the skills of one turn change for the rest of it. What a skill says counts as it was when the skill was
// loaded: a file that changes later widens nothing.
type active struct {
	Turn string `json:"turn,omitzero"`
	// Skills are those that name allowed tools, and Tools the entries of all of them.
	Skills []string `json:"skills,omitempty"`
	Tools  []string `json:"tools,omitempty"`
	// Model answers; "" is the agent's. Window is its context window, 0 if unknown. By is the skill that chose it.
	Model  string `json:"model,omitzero"`
	Window int    `json:"window,omitzero"`
	By     string `json:"by,omitzero"`
	// Forks are the skills that this turn and those above it run, innermost last.
	Forks []string `json:"forks,omitempty"`
}

// maxActive limits the skills of one turn that narrow, and maxEntries their allowed tools. Beyond them a skill allows nothing
// more.
const (
	maxActive  = 20
	maxEntries = 200
)

func (a active) narrows() bool { return len(a.Skills) > 0 }

// with returns a with the allowed tools of one more skill.
func (a active) with(k Skill) active {
	if k.AllowedTools == nil || slices.Contains(a.Skills, k.Name) && !slices.ContainsFunc(k.AllowedTools, func(e string) bool { return !slices.Contains(a.Tools, e) }) {
		return a
	}
	if !slices.Contains(a.Skills, k.Name) {
		if len(a.Skills) == maxActive {
			return a
		}
		a.Skills = append(slices.Clip(a.Skills), k.Name)
	}
	a.Tools = slices.Clone(a.Tools)
	for _, entry := range k.AllowedTools {
		if len(a.Tools) < maxEntries && !slices.Contains(a.Tools, entry) {
			a.Tools = append(a.Tools, entry)
		}
	}
	return a
}

// States implements [hook.Stateful].
func (s *Skills) States() map[string]hook.State { return map[string]hook.State{"active": &s.active} }

// of returns what the skills of the turn change.
func (s *Skills) of(t *hook.Turn) active {
	if a := s.active.Get(t.Conversation()); a.Turn == t.ID() {
		return a
	}
	return active{}
}

func (s *Skills) change(t *hook.Turn, f func(active) active) {
	s.active.Update(t.Conversation(), func(a active) active {
		if a.Turn != t.ID() {
			a = active{Turn: t.ID()}
		}
		return f(a)
	})
}

// apply makes the rest of the turn one of the skill: its allowed tools join those of other skills, and its model answers.
func (s *Skills) apply(ctx context.Context, t *hook.Turn, k Skill) {
	if k.AllowedTools == nil && k.Model == "" {
		return
	}
	model := s.modelFor(ctx, t, k)
	s.change(t, func(a active) active {
		if model.Name != "" {
			a.Model, a.Window, a.By = model.Name, model.ContextWindow, k.Name
		}
		return a.with(k)
	})
}

// modelFor returns the model that the skill chooses; none if it names none, may not choose, or names one that cannot be asked.
func (s *Skills) modelFor(ctx context.Context, t *hook.Turn, k Skill) message.Model {
	if k.Model == "" {
		return message.Model{}
	}
	err := s.mayChoose(k)
	model := message.Model{Name: k.Model}
	if err == nil && s.o.Model != nil {
		model, err = s.o.Model(k.Model)
	}
	if err != nil {
		tell(ctx, t, fmt.Sprintf("the model %q of the skill %q is not used: %s", k.Model, k.Name, err))
		return message.Model{}
	}
	return model
}

func (s *Skills) mayChoose(k Skill) error {
	if s.o.MayChoose == nil {
		return nil
	}
	return s.o.MayChoose(k)
}

// codeModel is the code of diagnostics about the model of a skill.
const codeModel hook.DiagnosticCode = "skills.model"

func tell(ctx context.Context, t *hook.Turn, text string) {
	t.Host().Emit(ctx, hook.Diagnostic{Code: codeModel, Text: text, Visibility: event.VisibleUser}.Event())
}

// toolName returns the public name of the tool.
func (s *Skills) toolName() string {
	if name := s.tool.Load(); name != nil {
		return *name
	}
	return ToolSkill
}

// maxCompiled limits the compiled lists that are kept.
const maxCompiled = 64

// compiled is a list of allowed tools, compiled. err names wrong entries, which allow nothing.
type compiled struct {
	Allowance
	err error
}

// allowance returns the list, compiled. The Allowance is never nil.
func (s *Skills) allowance(list []string) (Allowance, error) {
	if s.o.Allow == nil || len(list) == 0 {
		return byName(list), nil
	}
	key := strings.Join(list, "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.compiled[key]
	if !known {
		if c.Allowance, c.err = s.o.Allow(list); c.Allowance == nil {
			c.Allowance = byName(nil)
		}
		if len(s.compiled) >= maxCompiled {
			clear(s.compiled)
		}
		s.compiled[key] = c
	}
	return c.Allowance, c.err
}

// byName is a list that knows tools by name only.
type byName []string

// Names implements [Allowance].
func (b byName) Names(tool string) bool {
	return slices.ContainsFunc(b, func(entry string) bool { return entry == "*" || strings.EqualFold(entry, tool) })
}

// Allows implements [Allowance].
func (b byName) Allows(tool message.Tool, _ message.JSON) bool { return b.Names(tool.Name) }

// offered are the tools of a request as the skills of the turn left them.
type offered struct {
	key      string
	from, to *message.ToolSet
}

// RewriteRequest offers only the tools that the skills allow, and asks their model. The skills of the turns above count as
// well, so no agent can do more by delegating.
func (s *Skills) RewriteRequest(_ context.Context, step *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	t := step.Turn()
	if t == nil {
		return req, nil
	}
	for at := t; at != nil; at = at.Parent() {
		if s.of(at).narrows() {
			req = offer.Only(req, s.offer(t, req.Tools))
			break
		}
	}
	if a := s.of(t); a.Model != "" && s.isFirst(step) {
		req.Model = req.Model.For(a.Model).Merge(message.Model{ContextWindow: a.Window})
	}
	return req, nil
}

// offer returns the tools of the set that the skills of the turn and of those above allow.
func (s *Skills) offer(t *hook.Turn, set *message.ToolSet) *message.ToolSet {
	var key strings.Builder
	var lists []Allowance
	for at := t; at != nil; at = at.Parent() {
		if a := s.of(at); a.narrows() {
			key.WriteString(strings.Join(a.Tools, "\x00") + "\x01")
			list, _ := s.allowance(a.Tools) // Warnings has the error
			lists = append(lists, list)
		}
	}
	if last := s.offered.Get(t); last.from == set && last.key == key.String() {
		return last.to
	}
	own := s.toolName()
	to := offer.Filter(set, func(tool message.Tool) bool {
		return tool.Name == own || !slices.ContainsFunc(lists, func(l Allowance) bool { return !l.Names(tool.Name) })
	})
	s.offered.Update(t, func(offered) offered { return offered{key.String(), set, to} })
	return to
}

// isFirst reports whether the step still asks its first model. After a fallback the step is another value with the same number,
// and the model of the fallback counts.
func (s *Skills) isFirst(step *hook.Step) bool {
	return s.first.Update(step.Turn(), func(was *hook.Step) *hook.Step {
		if was == nil || was.Number() != step.Number() {
			return step
		}
		return was
	}) == step
}

// OnModelError goes on with the agent's model if the model of a skill does not take the request. Failures that may pass, and
// refusals of a content, are for other hooks.
func (s *Skills) OnModelError(ctx context.Context, step *hook.Step, failure message.ModelFailure) (hook.FailureDecision, error) {
	t := step.Turn()
	a := s.of(t)
	if a.Model == "" || failure.Model != a.Model || step.Model() == a.Model || failure.Class.Passing() || failure.Class == message.FailureContent {
		return hook.FailureDecision{}, nil
	}
	s.change(t, func(a active) active {
		a.Model, a.Window, a.By = "", 0, ""
		return a
	})
	tell(ctx, t, fmt.Sprintf("the model %q of the skill %q does not answer (%s); the turn goes on with %s", a.Model, a.By, failure.Class, step.Model()))
	return hook.FallbackFailure(step.Model()), nil
}

// BeforeTool denies calls that the skills of the turn, or of one above, do not allow.
func (s *Skills) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	for t := turnOf(call); t != nil; t = t.Parent() {
		a := s.of(t)
		if !a.narrows() || call.Name() == s.toolName() {
			continue
		}
		if list, _ := s.allowance(a.Tools); !list.Allows(call.Tool(), call.Args()) {
			return hook.DenyTool(a.refusal()), nil
		}
	}
	return hook.ToolDecision{}, nil
}

// refusal says why a call is denied. It repeats nothing of the call.
func (a active) refusal() string {
	quoted := make([]string, len(a.Skills))
	for i, name := range a.Skills {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	which := "no other tools"
	if len(a.Tools) > 0 {
		which = "only " + strings.Join(a.Tools[:min(len(a.Tools), maxNamed)], ", ")
		if more := len(a.Tools) - maxNamed; more > 0 {
			which += fmt.Sprintf(" and %d more", more)
		}
	}
	return fmt.Sprintf("not allowed in this turn: the skill %s allows %s", strings.Join(quoted, " and "), which)
}
