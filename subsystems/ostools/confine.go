package ostools

import (
	"encoding/json"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
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

// Confined says in sentences what the sandbox would let a call of bash do that a person is asked about; nil without a sandbox. grant limits
// the call.
func (o *OS) Confined(args message.JSON, grant hook.Grant) []string {
	var in BashInput
	if o.sandbox == nil || json.Unmarshal([]byte(args), &in) != nil {
		return nil
	}
	g, err := o.granted(grant, in)
	if err != nil {
		return []string{"The tool would refuse this call: " + err.Error() + "."}
	}
	e, err := o.sandbox.Explain(g)
	if err != nil {
		return []string{"What the sandbox allows could not be found out: " + err.Error() + "."}
	}
	return e.Sentences(g)
}
