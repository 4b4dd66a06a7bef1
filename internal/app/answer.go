package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/schema"
)

// AnswerForm is the form of an answer that a person asks for, as the flag --schema of a command
// names it. The zero value takes any answer. It implements flag.Value and pflag.Value.
type AnswerForm struct {
	text   message.JSON
	schema *schema.Schema
}

// Asked reports whether there is a form.
func (f *AnswerForm) Asked() bool { return f.schema != nil }

// String returns "", the default of the flag.
func (f *AnswerForm) String() string { return "" }

// Type returns the form of a value, for the help.
func (f *AnswerForm) Type() string { return "FILE" }

// Set reads a file with a JSON Schema.
func (f *AnswerForm) Set(path string) error {
	switch text := strings.TrimSpace(path); {
	case text == "":
		return errors.New("no file is named; write the path of a file with a JSON Schema")
	case text[0] == '{':
		return errors.New("this is a schema; write it to a file, and the file's path here")
	}
	data, err := conffile.Read(path, &conffile.Options{JSON: true})
	if err != nil {
		return err
	}
	f.text = message.JSON(data)
	f.schema, err = schema.Compile(f.text)
	return err
}

// Format is the response format to ask for; without a form it is the agent's.
func (f *AnswerForm) Format() message.ResponseFormat {
	return message.ResponseFormat{JSON: f.Asked(), Schema: f.text}
}

// Held returns the outcome, as failed if it completed with an answer of another form: a hook may
// have answered in the model's place, and Structured may be off.
func (f *AnswerForm) Held(out hook.TurnOutcome) hook.TurnOutcome {
	if !f.Asked() || out.Stop != hook.StopCompleted {
		return out
	}
	if wrong := f.schema.Check(out.Text()); len(wrong) > 0 {
		out.Stop, out.Message = hook.StopError, message.Message{}
		out.Err = fmt.Errorf("the answer does not fit the schema: %s; see whether the subsystem Structured is off, or a hook answered", wrong[0])
	}
	return out
}
