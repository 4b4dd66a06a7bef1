package ostools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
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
	return sentences(e, g)
}

// sentences says in a few sentences what a command with the grant could do.
func sentences(e sandbox.Explanation, g sandbox.Grant) []string {
	switch {
	case g.Outside:
		return []string{"It would run outside of the sandbox, and could do whatever the user can do who runs this program."}
	case e.Mode == sandbox.Unrestricted:
		return []string{"The sandbox is off: it could do whatever the user can do who runs this program."}
	case e.Level == sandbox.None:
		return []string{"This machine cannot enforce the sandbox, so it could do whatever the user can do who runs this program: " + e.Why + "."}
	}
	var out []string
	if e.Level == sandbox.Reduced {
		out = append(out, "This machine enforces only a part of the sandbox: "+e.Why+".")
	}
	out = append(out, "It could change: "+list(e.Writable)+".")
	if len(e.Protected) > 0 {
		out = append(out, "It could not change, though they are there: "+list(e.Protected)+".")
	}
	out = append(out, "It could read, and not change: "+list(e.Readable)+".", reached(e))
	if e.UnixSockets {
		out = append(out, "It could use unix sockets.")
	}
	return out
}

// reached says what of the network a command could reach.
func reached(e sandbox.Explanation) string {
	switch {
	case len(e.Hosts) == 0:
		return "It could reach no host."
	case e.Level == sandbox.Reduced:
		return "It could reach every host, because this machine cannot keep it to " + list(e.Hosts) + "."
	}
	return "It could reach " + list(e.Hosts) + ", and no other host."
}

// maxListed is how many paths a sentence names.
const maxListed = 12

// list joins paths for a sentence.
func list(paths []string) string {
	var once []string
	for _, p := range paths { // what PATH names twice is there twice
		if !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	paths = once
	switch n := len(paths); {
	case n == 0:
		return "nothing"
	case n > maxListed:
		return fmt.Sprintf("%s, and %d more", strings.Join(paths[:maxListed], ", "), n-maxListed)
	}
	return strings.Join(paths, ", ")
}
