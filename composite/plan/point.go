package plan

import (
	"fmt"
	"strings"
	"time"
)

// Point is what the declaration of a point in package hook says: all that the
// planner knows of it.
type Point struct {
	Name string
	// Kind is facade, contribute, rewrite, decide, wrap or observe.
	Kind string
	// Combine is the rule by which the answers of several hooks become one.
	Combine string
	// Reverse: the last hook comes first.
	Reverse bool
	// Bracket: the point is one end of a pair, as OnOpen and OnClose are.
	Bracket bool
	// Closed is the default fail policy.
	Closed bool
	// Place is the type of package hook that says what the point is about, such as
	// ToolCall or Turn; "" for none.
	Place string
}

// kinds of effect that a timeout has.
const (
	// abandons: at the deadline the fail policy takes the place of the answer.
	abandons = "abandons"
	// cancels: the context that the hook gets has the deadline.
	cancels = "cancels"
)

// timeout says what a timeout does at the point, "" for nothing: what has no
// context cannot be told to stop, and binding a call has no effect to wait for.
func (p Point) timeout() string {
	switch p.Kind {
	case "decide", "rewrite", "contribute":
		return abandons
	case "wrap", "observe":
		return cancels
	}
	switch p.Combine {
	case "fold":
		return abandons
	case "each":
		return cancels
	}
	return ""
}

// Abandons tells whether a timeout at the point gives the hook a goroutine of its
// own, whose answer is dropped when it comes too late.
func (p Point) Abandons() bool { return p.timeout() == abandons }

// answers tells whether the composite has something to put in the place of an
// answer when a hook fails, so that a fail policy means something.
func (p Point) answers() bool { return p.Abandons() || p.Kind == "wrap" }

// narrows tells whether match= applies at the point. What tools a hook owns, and
// what is said about them, does not depend on single calls.
func (p Point) narrows() bool {
	return p.Kind != "facade" || p.Combine == "fold" || p.Combine == "each"
}

// rewrites tells whether hooks at the point may change the same value. At OnBuildAgent each reads a section of its own.
func (p Point) rewrites() bool { return p.Combine == "fold" && p.Place != "AgentConfig" }

// pairs are the points of which a hook that has both cannot lack one: what is
// opened is closed, what is offered is run.
func pairs() [][2]string {
	return [][2]string{{"Schema", "Dispatch"}, {"OnRegisterAgent", "OnUnregisterAgent"}, {"OnOpen", "OnClose"}}
}

// illegal says why an option behind the point can do nothing there, "" if it can.
func (p Point) illegal(word string) (why, fix string) {
	switch word {
	case "timeout":
		switch {
		case p.timeout() != "":
		case p.Kind == "facade" && p.Combine == "first":
			return p.Name + " only binds a call and must not block", "bound the tool itself: //hook:tool timeout=30s"
		default:
			return p.Name + " gets no context that could end", "drop it"
		}
	case "failopen", "failclosed":
		if !p.answers() {
			return "nothing takes the place of an answer at " + p.Name + ": " + afterFailure(p), "drop it"
		}
	case "record", "background":
		if p.Kind != "observe" || p.Bracket {
			return fmt.Sprintf("%s is waited for, because %s", p.Name, awaited(p)), "only points that observe can go on without their hooks: drop it"
		}
	case "parallel":
		if p.Kind != "contribute" {
			return fmt.Sprintf("the hooks of %s are called one after the other, because %s", p.Name, inTurn(p)),
				"only contributions can be made at the same time: drop it"
		}
	case "visibility":
		if p.timeout() == "" {
			return "what happens at " + p.Name + " is not recorded", "drop it"
		}
	}
	return "", ""
}

// Allows returns the words that a tag may have behind the point, in their order.
func (p Point) Allows() []string {
	var out []string
	for _, w := range Words() {
		name := strings.TrimSuffix(w.Word, "=")
		if why, _ := p.illegal(name); w.Point && why == "" {
			out = append(out, name)
		}
	}
	return out
}

func afterFailure(p Point) string {
	switch {
	case p.Bracket && !p.Reverse:
		return "a failure ends the start, and what was opened is closed"
	case p.Bracket && p.Kind == "observe":
		return "all are closed and the errors are joined"
	case p.Combine == "each":
		return "a failure is reported and the others are told all the same"
	}
	return "a failure refuses the agent"
}

func awaited(p Point) string {
	switch p.Kind {
	case "decide":
		return "its answer decides"
	case "rewrite":
		return "its value goes on"
	case "contribute":
		return "what it adds is used at once"
	case "wrap":
		return "it surrounds the operation"
	}
	return "what comes next depends on its end"
}

func inTurn(p Point) string {
	switch p.Kind {
	case "decide":
		return "the first that blocks ends it"
	case "rewrite":
		return "each gets what the one before it left"
	case "wrap":
		return "each surrounds those behind it"
	}
	return "their order is part of what they see"
}

// PointUse is one point that a member takes part in, with its policies there.
type PointUse struct {
	Name string `json:"name"`
	// Kind is the point's.
	Kind string `json:"kind,omitzero"`
	// Policy is failopen or failclosed where that is not the point's own default,
	// and failopen for every decider and rewriter that fails open; else "".
	Policy string `json:"policy,omitzero"`
	// Timeout is how long the hook may take; 0 is no bound.
	Timeout Duration `json:"timeout,omitzero"`
	// Mode is record, background or parallel; "" is blocking.
	Mode string `json:"mode,omitzero"`
	// Visibility is who may see the runs of the hook at this point: internal,
	// debug, audit or user; "" is internal.
	Visibility string `json:"visibility,omitzero"`
}

// Unbounded tells whether everybody waits for the answer of the hook for as long
// as it takes.
func (u PointUse) Unbounded() bool {
	return u.Timeout == 0 && (u.Kind == "decide" || u.Kind == "rewrite")
}

// Options returns the policies as a tag writes them, "failopen,timeout=2m".
func (u PointUse) Options() string {
	var out []string
	for _, s := range []string{u.Policy, u.Mode} {
		if s != "" {
			out = append(out, s)
		}
	}
	if u.Timeout != 0 {
		out = append(out, "timeout="+u.Timeout.String())
	}
	if u.Visibility != "" {
		out = append(out, "visibility="+u.Visibility)
	}
	return strings.Join(out, ",")
}

// over returns u with what it does not say taken from d.
func (u PointUse) over(d PointUse) PointUse {
	if u.Policy == "" {
		u.Policy = d.Policy
	}
	if u.Timeout == 0 {
		u.Timeout = d.Timeout
	}
	if u.Mode == "" {
		u.Mode = d.Mode
	}
	if u.Visibility == "" {
		u.Visibility = d.Visibility
	}
	return u
}

// Duration is a time.Duration that is written as in tags: 2m, 800ms.
type Duration time.Duration

// String returns the duration without parts that are zero.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the duration as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
