// Package planning is the state of a plan-and-execute turn: the plan, the phase that the turn is
// in, and what the model is asked in it. It knows no turn and calls no model.
//
// A turn plans, carries out each step of the plan by tool calling, decides after each step
// whether the plan still holds, and answers at last. Package loop makes its model calls.
package planning

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/fence"
)

// Limits of one turn.
const (
	// MaxSteps is how many steps a plan may have, with those that are done.
	MaxSteps = 20
	// MaxStep is the length of one step in bytes.
	MaxStep = 1000
	// MaxCalls is how many model calls one step may take. In the last one no tool can be called.
	MaxCalls = 8
	// MaxAttempts is how often a plan is asked for in a row before the turn fails, and a decision
	// before the plan stays as it is.
	MaxAttempts = 3
	// MaxRevisions is how often a plan may be revised.
	MaxRevisions = 8
)

// Phase is what a turn does next.
type Phase string

// The phases, in their order.
const (
	Planning  Phase = ""          // the model makes the plan
	Executing Phase = "executing" // the first step that is not done is carried out
	Deciding  Phase = "deciding"  // a step is done; the model confirms or revises the rest
	Answering Phase = "answering" // the model answers the user
	Answered  Phase = "answered"  // a turn that continues after its answer does so by tool calling
)

// State is the state of a turn. It is small, and the journal keeps it as JSON. The zero State is
// that of a turn that has not planned yet.
type State struct {
	Phase Phase `json:"phase,omitzero"`
	// Steps is the plan; the first Done of them are done.
	Steps []string `json:"steps,omitzero"`
	Done  int      `json:"done,omitzero"`
	// Calls counts the model calls of the running step.
	Calls int `json:"calls,omitzero"`
	// Attempts counts the replies in a row that could not be read, and Problem says what was wrong
	// with the last one.
	Attempts int    `json:"attempts,omitzero"`
	Problem  string `json:"problem,omitzero"`
	// Revisions counts the revisions of the plan.
	Revisions int `json:"revisions,omitzero"`
	// Number is the number of the turn's last step, which the history does not show: plans and
	// decisions are not in it.
	Number int `json:"number,omitzero"`
}

// Restore reads the form of [State.JSON]; what is no state is a turn that has not planned yet.
func Restore(data message.JSON) State {
	var s State
	if err := json.Unmarshal([]byte(data), &s); err != nil || !s.valid() {
		return State{}
	}
	return s
}

// valid reports whether the counters and the phase fit the plan.
func (s *State) valid() bool {
	switch s.Phase {
	case Planning, Deciding, Answering, Answered:
	case Executing:
		return s.Done >= 0 && s.Done < len(s.Steps)
	default:
		return false
	}
	return s.Done >= 0 && s.Done <= len(s.Steps)
}

// JSON is the state for the journal.
func (s State) JSON() message.JSON {
	data, err := json.Marshal(s)
	if err != nil {
		return "{}" // strings and numbers can be encoded
	}
	return message.JSON(data)
}

// Asks says what the request of a phase looks like.
type Asks struct {
	// Prompt is the last message of the request; "" is none.
	Prompt string
	// Control: the reply is for the loop. Nobody else sees it, and the history does not have it.
	Control bool
	// NoTools: the model may not call tools.
	NoTools bool
	// Format is the form of the reply, of a phase whose reply is not the answer.
	Format message.ResponseFormat
	// Answer: the reply is the answer, in the agent's own format.
	Answer bool
}

// Ask returns what the next model call asks for.
func (s *State) Ask() Asks {
	switch s.Phase {
	case Planning:
		return Asks{Control: true, NoTools: true, Format: planFormat(), Prompt: s.again(planPrompt)}
	case Executing:
		if s.Calls+1 < MaxCalls {
			return Asks{Prompt: s.stepPrompt(stepPrompt)}
		}
		return Asks{NoTools: true, Prompt: s.stepPrompt(lastCallPrompt)}
	case Deciding:
		return Asks{Control: true, NoTools: true, Format: s.decisionFormat(), Prompt: s.again(s.decisionPrompt())}
	case Answering:
		return Asks{NoTools: true, Answer: true, Prompt: fmt.Sprintf(answerPrompt, s.outline())}
	}
	return Asks{Answer: true}
}

// ErrPlan: the model's replies could not be read as a plan.
var ErrPlan = errors.New("runtime: the model makes no plan")

// Plan reads the reply of the phase Planning. The error is ErrPlan once there were too many
// replies that are no plan; before that the plan is asked for again, and Problem says why.
func (s *State) Plan(text string) error {
	var p struct {
		Steps *[]string `json:"steps"`
	}
	err := decode(text, &p)
	if err == nil && p.Steps == nil {
		err = errors.New(`it has no member "steps"`)
	}
	var steps []string
	if err == nil {
		steps, err = clean(*p.Steps, MaxSteps)
	}
	if err != nil {
		return s.unreadable(err)
	}
	s.Steps, s.Phase = steps, Executing
	if len(steps) == 0 {
		s.Phase = Answering
	}
	s.read()
	return nil
}

// Called counts a model call of the running step.
func (s *State) Called() {
	if s.Phase == Executing {
		s.Calls++
	}
}

// StepDone is called when the running step has its result.
func (s *State) StepDone() { s.Done, s.Calls, s.Phase = s.Done+1, 0, Deciding }

// Decide reads the reply of the phase Deciding. changed: the plan is another one. The error says
// that it could not be read: the decision is asked for again, and at last the plan stays as it is.
func (s *State) Decide(text string) (changed bool, err error) {
	var d struct {
		Decision string   `json:"decision"`
		Steps    []string `json:"steps"`
	}
	err = decode(text, &d)
	if err == nil {
		switch d.Decision {
		case "continue":
		case "done":
			changed = s.Done < len(s.Steps)
			s.Steps = s.Steps[:s.Done]
		case "revise":
			changed = true
			err = s.revise(d.Steps)
		default:
			err = fmt.Errorf("decision is %.40q and has to be one of %s", d.Decision, strings.Join(s.decisions(), ", "))
		}
	}
	if err != nil && s.unreadable(err) == nil {
		return false, err
	}
	s.read()
	s.Phase = Executing
	if s.Done >= len(s.Steps) {
		s.Phase = Answering
	}
	return changed && err == nil, err
}

// revise replaces the steps that are not done.
func (s *State) revise(rest []string) error {
	if s.Revisions >= MaxRevisions {
		return fmt.Errorf("the plan was revised %d times and cannot be revised again", s.Revisions)
	}
	steps, err := clean(rest, MaxSteps-s.Done)
	if err != nil {
		return err
	}
	s.Steps = append(slices.Clone(s.Steps[:s.Done]), steps...)
	s.Revisions++
	return nil
}

// decisions are those that the model may take.
func (s *State) decisions() []string {
	if s.Revisions >= MaxRevisions || s.Done >= MaxSteps {
		return []string{"continue", "done"}
	}
	return []string{"continue", "revise", "done"}
}

// Continued is called when the answer is given.
func (s *State) Continued() { s.Phase = Answered }

// unreadable counts a reply that could not be read. The error is ErrPlan at the limit.
func (s *State) unreadable(why error) error {
	s.Attempts, s.Problem = s.Attempts+1, why.Error()
	if s.Attempts < MaxAttempts {
		return nil
	}
	return fmt.Errorf("%w, in %d replies in a row: %s", ErrPlan, s.Attempts, s.Problem)
}

// read is called when a reply could be read.
func (s *State) read() { s.Attempts, s.Problem = 0, "" }

// decode reads one JSON value, which may stand in a fenced block.
func decode(text string, to any) error {
	text = fence.Trim(text)
	if text == "" {
		return errors.New("it is empty")
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return errors.New("it is not the JSON that was asked for")
	}
	return nil
}

// clean returns the steps, each as one line. limit bounds their number.
func clean(steps []string, limit int) ([]string, error) {
	if len(steps) > limit {
		return nil, fmt.Errorf("it has %d steps and may have %d", len(steps), limit)
	}
	out := make([]string, len(steps))
	for i, step := range steps {
		out[i] = strings.Join(strings.Fields(step), " ")
		switch {
		case out[i] == "":
			return nil, fmt.Errorf("step %d is empty", i+1)
		case len(out[i]) > MaxStep:
			return nil, fmt.Errorf("step %d has %d bytes and may have %d", i+1, len(out[i]), MaxStep)
		}
	}
	return out, nil
}
