package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// or returns the limits with the defaults d for zero values.
func (l Limits) or(d Limits) Limits {
	if l.Steps == 0 {
		l.Steps = d.Steps
	}
	if l.Tokens == 0 {
		l.Tokens = d.Tokens
	}
	if l.Time == 0 {
		l.Time = d.Time
	}
	if l.Cost == 0 {
		l.Cost = d.Cost
	}
	if l.Finish == nil {
		l.Finish = d.Finish
	}
	if l.Calls == nil {
		l.Calls = d.Calls
	}
	if l.PerMinute == nil {
		l.PerMinute = d.PerMinute
	}
	if l.Repeats == 0 {
		l.Repeats = d.Repeats
	}
	return l
}

// reached returns the decision for the first limit that is reached, or the zero decision.
func (l Limits) reached(c counts, cost hook.Cost) hook.StepDecision {
	switch {
	case l.Steps > 0 && c.Steps >= l.Steps:
		return hook.StopStep(hook.StopStepsLimit, fmt.Sprintf("Step limit reached: %d/%d", c.Steps, l.Steps)).
			WithContext(figures("currentSteps", c.Steps, "maxSteps", l.Steps))
	case l.Tokens > 0 && c.Tokens >= l.Tokens:
		return hook.StopStep(hook.StopTokenLimit, fmt.Sprintf("Token limit reached: %d/%d", c.Tokens, l.Tokens)).
			WithContext(figures("currentTokens", c.Tokens, "maxTokens", l.Tokens))
	case l.Time > 0 && c.Time >= l.Time:
		return hook.StopStep(hook.StopTimeLimit, fmt.Sprintf("Execution time limit reached: %.2fs/%.2fs", c.Time.Seconds(), l.Time.Seconds())).
			WithContext(figures("currentSeconds", c.Time.Seconds(), "maxSeconds", l.Time.Seconds()))
	case l.Cost > 0 && cost >= l.Cost:
		return hook.StopStep(hook.StopCostLimit, fmt.Sprintf("Cost limit reached: %s/%s", cost, l.Cost)).
			WithContext(figures("currentCost", cost.Dollars(), "maxCost", l.Cost.Dollars()))
	}
	return hook.StepDecision{}
}

// finished returns the decision that ends the turn if the model's finish reason is a limit,
// even if the results of tool calls call for another step.
func (l *limits) finished(reason message.FinishReason) hook.StepDecision {
	if reason == "" || !slices.Contains(l.turn.Finish, reason) && !slices.Contains(l.conversation.Finish, reason) {
		return hook.StepDecision{}
	}
	return hook.StopStep(hook.StopFinishReason, fmt.Sprintf("Finish reason %q matched stop condition", reason)).
		WithContext(figures("finishReason", reason, "stopReasons", slices.Concat(l.turn.Finish, l.conversation.Finish)))
}

// figures returns a JSON object of names and values, in order.
func figures(pairs ...any) message.JSON {
	out := []byte("{")
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		value, err := json.Marshal(pairs[i+1])
		if err != nil {
			value = []byte("null") // an infinite number
		}
		out = fmt.Appendf(out, "%q:%s", pairs[i], value)
	}
	return message.JSON(append(out, '}'))
}

// Section is an agent's configuration: the section "guard". Its limits replace those for
// all agents; -1 switches a limit off.
type Section struct {
	SectionLimits
	// Conversation limits whole conversations.
	Conversation SectionLimits `json:"conversation"`
}

// SectionLimits are [Limits] in the form of a configuration.
type SectionLimits struct {
	Steps  int   `json:"steps"`
	Tokens int64 `json:"tokens"`
	// Time is a duration, "90s" or "5m"; "off" is no limit.
	Time string `json:"time"`
	// Cost is in US dollars.
	Cost      float64                `json:"cost"`
	Finish    []message.FinishReason `json:"finish"`
	Calls     map[string]int         `json:"calls"`
	PerMinute map[string]int         `json:"per_minute"`
	Repeats   int                    `json:"repeats"`
}

func (s SectionLimits) limits() (Limits, error) {
	l := Limits{
		Steps: s.Steps, Tokens: s.Tokens, Cost: hook.Cost(s.Cost * float64(hook.Dollar)),
		Finish: s.Finish, Calls: s.Calls, PerMinute: s.PerMinute, Repeats: s.Repeats,
	}
	switch s.Time {
	case "":
	case "off":
		l.Time = Off
	default:
		d, err := time.ParseDuration(s.Time)
		if err != nil || d <= 0 {
			return l, fmt.Errorf("time: %q is no duration; write 90s, 5m or off", s.Time)
		}
		l.Time = d
	}
	for name, n := range map[string]float64{"steps": float64(s.Steps), "tokens": float64(s.Tokens), "cost": s.Cost, "repeats": float64(s.Repeats)} {
		if n < 0 && n != Off {
			return l, fmt.Errorf("%s: %v is less than none; write -1 for no limit", name, n)
		}
	}
	known := []message.FinishReason{message.FinishStop, message.FinishTools, message.FinishLength, message.FinishFilter, message.FinishOther}
	for _, r := range s.Finish {
		if !slices.Contains(known, r) {
			return l, fmt.Errorf("finish: %q is no finish reason; known are %q", r, known)
		}
	}
	for _, m := range []map[string]int{s.Calls, s.PerMinute} {
		for tool, n := range m {
			if n < 0 {
				return l, fmt.Errorf("calls of %s: %d is less than none; leave the tool out for no limit", tool, n)
			}
		}
	}
	return l, nil
}

// limitsOf returns the limits of an agent: those of its section, else those of all agents.
func (g *Guard) limitsOf(cfg *hook.AgentConfig) (*limits, error) {
	s, _, err := hook.SectionOf[Section](cfg, "guard")
	if err != nil {
		return nil, err
	}
	turn, err := s.SectionLimits.limits()
	if err != nil {
		return nil, fmt.Errorf("agent %q: section guard: %w", cfg.Name, err)
	}
	whole, err := s.Conversation.limits()
	if err != nil {
		return nil, fmt.Errorf("agent %q: section guard: conversation: %w", cfg.Name, err)
	}
	return &limits{turn.or(g.o.Turn), whole.or(g.o.Conversation), cmp.Or(turn.Steps, max(0, g.o.Turn.Steps))}, nil
}
