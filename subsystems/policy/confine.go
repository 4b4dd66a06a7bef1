package policy

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// Confinement is what a sandbox does with a call of a command. The zero Confinement does nothing, and says nothing.
type Confinement struct {
	// On: the sandbox confines the call. Without Requests it then runs unasked, unless a rule or what the sandbox cannot see asks.
	On bool `json:"on"`
	// Requests are what the call requests beyond the sandbox's default, each as one precise sentence for a person without a full stop:
	// "write to ~/go/pkg/mod", "connect to api.example.com", "no sandbox at all". A person is always asked about them, whether the
	// sandbox is On or not; no rule that allows the command covers them.
	Requests []string `json:"requests,omitempty"`
	// Why says in one line why the sandbox is not On, and how to get it; "" says nothing. It ends the reason of a question.
	Why string `json:"why,omitzero"`
}

// String says what the sandbox does: "confines it".
func (c Confinement) String() string {
	text := "confines it"
	if !c.On {
		text = "does not confine it"
		if c.Why != "" {
			text += ": " + c.Why
		}
	}
	if len(c.Requests) > 0 {
		text += "; it requests: " + strings.Join(c.Requests, "; ")
	}
	return text
}

// confinement asks what the sandbox does with the call; nil if there is none or the call is no command.
func (p *Policy) confinement(call *hook.ToolCall) *Confinement {
	if !p.RunsCommands(call.Name()) {
		return nil
	}
	if p.confined != nil {
		c := p.confined(call)
		return &c
	}
	// Who has a sandbox and did not say so is asked about what a call requests all the same.
	subject := p.compiler.subjects[strings.ToLower(call.Name())]
	args, err := newArguments(call.Args())
	if err != nil || subject.Needs == "" || len(args.texts(subject.Needs)) == 0 {
		return nil
	}
	return &Confinement{Requests: args.texts(subject.Needs)}
}

// requests reports whether the call requests more than the sandbox's default.
func (j *judgement) requests() bool { return j.confined != nil && len(j.confined.Requests) > 0 }

// confine adds to the answer what the call requests, or why the sandbox does not confine it.
func (j *judgement) confine() {
	switch {
	case j.confined == nil || j.effect == Deny:
	case j.requests():
		reason := strings.Join(j.confined.Requests, "; ")
		if j.effect == Ask {
			reason += "; " + j.reason
		} else {
			j.decided = nil
		}
		j.effect, j.reason = Ask, reason
	case !j.confined.On && j.effect == Ask && j.confined.Why != "":
		j.reason += "; " + j.confined.Why
	}
}
