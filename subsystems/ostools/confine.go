package ostools

import (
	"encoding/json"

	"github.com/grapnel-go/grapnel/hook"
)

// Confine says what the sandbox does with a call of bash: whether it confines the command as its mode promises, and if not, why, in one
// line for the person who is asked; and what the call asks for beyond that, one sentence each. Without a sandbox all are zero.
func (o *OS) Confine(call *hook.ToolCall) (on bool, requests []string, why string) {
	if o.sandbox == nil {
		return false, nil, ""
	}
	on, why = o.sandbox.Confines()
	var in struct {
		Needs []string `json:"needs"`
	}
	if err := json.Unmarshal([]byte(call.Args()), &in); err != nil {
		return false, nil, "what the command needs cannot be read"
	}
	for _, text := range in.Needs {
		r, err := o.sandbox.ParseRequest(text)
		if err != nil {
			requests = append(requests, text) // the tool refuses it
			continue
		}
		requests = append(requests, o.sandbox.Sentence(r))
	}
	return on, requests, why
}
