package app

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/schema"
)

// AnswerForm is the form of an answer that a person asks for.
type AnswerForm struct {
	text   message.JSON
	schema *schema.Schema
}

// ReadAnswerForm reads a file with a JSON Schema; nil for "".
func ReadAnswerForm(path string) (*AnswerForm, error) {
	if path == "" {
		return nil, nil
	}
	data, err := conffile.Read(path, &conffile.Options{JSON: true})
	if err != nil {
		return nil, fmt.Errorf("--schema: %w", err)
	}
	form := &AnswerForm{text: message.JSON(data)}
	if form.schema, err = schema.Compile(form.text); err != nil {
		return nil, fmt.Errorf("--schema: %s: %w", path, err)
	}
	return form, nil
}

// Format is the response format to ask for; that of a nil form is the agent's.
func (f *AnswerForm) Format() message.ResponseFormat {
	if f == nil {
		return message.ResponseFormat{}
	}
	return message.ResponseFormat{JSON: true, Schema: f.text}
}

// Held returns the outcome, as failed if it completed with an answer of another form: a hook may
// have answered in the model's place, and Structured may be off. A nil form takes any answer.
func (f *AnswerForm) Held(out hook.TurnOutcome) hook.TurnOutcome {
	if f == nil || out.Stop != hook.StopCompleted {
		return out
	}
	if wrong := f.schema.Check(out.Text()); len(wrong) > 0 {
		out.Stop, out.Message = hook.StopError, message.Message{}
		out.Err = fmt.Errorf("the answer does not fit the schema: %s; see whether the subsystem Structured is off, or a hook answered", wrong[0])
	}
	return out
}
