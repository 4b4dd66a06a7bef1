package planning

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// What the model is asked in each phase. %s is the plan.
const (
	planPrompt = `Make a plan for what was asked of you; do not carry it out yet. You cannot call tools now, but you can while you carry out the steps.
Answer with JSON only: {"steps": ["…", "…"]}. Each step is one line that says what to do, and each needs the ones before it. Use as few steps as the work needs, at most 20. If it needs none, answer {"steps": []}.`

	stepPrompt = `You carry out a plan, one step at a time:

%s

Carry out step %d now and nothing beyond it: %s
Call the tools that you need. When the step is done, answer with its result: the facts that later steps and the answer need.`

	lastCallPrompt = `You carry out a plan, one step at a time:

%s

You have used up the model calls of step %d: %s
You cannot call tools any more. Answer with the result of the step, and say what is missing.`

	decisionPrompt = `A step of the plan is done:

%s

Decide how to go on, from what you know now. Answer with JSON only: {"decision": "…", "steps": []}.
"continue": the plan holds as it is. "done": what was asked for can be answered now, so the open steps are dropped.`

	revisePrompt = `
"revise": the open steps are replaced by those of "steps".`

	answerPrompt = `The plan is carried out:

%s

Answer what was asked of you, from the results above. You cannot call tools any more.`

	outlineOfNone = "(the plan has no steps)"
)

// Markdown returns the plan as a list, one line for each step, with a mark before those that are
// done; "" without steps.
func (s *State) Markdown() string {
	var b strings.Builder
	for i, step := range s.Steps {
		mark := " "
		if i < s.Done {
			mark = "x"
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d. [%s] %s", i+1, mark, step)
	}
	return b.String()
}

func (s *State) outline() string {
	if len(s.Steps) == 0 {
		return outlineOfNone
	}
	return s.Markdown()
}

func (s *State) stepPrompt(format string) string {
	return fmt.Sprintf(format, s.outline(), s.Done+1, s.Steps[s.Done])
}

func (s *State) decisionPrompt() string {
	text := fmt.Sprintf(decisionPrompt, s.outline())
	if len(s.decisions()) == 3 {
		text += revisePrompt
	}
	return text
}

// again adds what was wrong with the last reply.
func (s *State) again(prompt string) string {
	if s.Problem == "" {
		return prompt
	}
	return prompt + "\n\nYour last reply could not be used: " + s.Problem + "."
}

// stepsSchema is the schema of a list of steps.
const stepsSchema = `{"type":"array","items":{"type":"string"}}`

func planFormat() message.ResponseFormat {
	return message.ResponseFormat{JSON: true, Name: "plan", Schema: `{"type":"object","properties":{"steps":` + stepsSchema +
		`},"required":["steps"],"additionalProperties":false}`}
}

func (s *State) decisionFormat() message.ResponseFormat {
	names, err := json.Marshal(s.decisions())
	if err != nil {
		names = []byte("[]") // strings can be encoded
	}
	return message.ResponseFormat{JSON: true, Name: "decision", Schema: message.JSON(`{"type":"object","properties":{"decision":{"type":"string","enum":` +
		string(names) + `},"steps":` + stepsSchema + `},"required":["decision","steps"],"additionalProperties":false}`)}
}
