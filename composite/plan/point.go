package plan

import (
	"fmt"
	"strings"
	"time"
)

// Point holds the facts of a point's declaration in package hook.
type Point struct {
	Name string
	// Kind is facade, contribute, rewrite, decide, wrap or observe.
	Kind string
	// Combine is the rule that combines the answers of several hooks.
	Combine string
	// Reverse: the last hook comes first.
	Reverse bool
	// Bracket: the point is one end of a pair, as OnOpen and OnClose are.
	Bracket bool
	// Closed is the default fail policy.
	Closed bool
	// Timeout is how long a hook may take if its tag does not say; 0 is no limit.
	Timeout time.Duration
	// Place is the name of the type of the point's place, such as ToolCall or Turn; "" for
	// none.
	Place string
}

// Effects of a timeout.
const (
	// abandons: at the deadline the fail policy answers.
	abandons = "abandons"
	// cancels: the hook's context has the deadline.
	cancels = "cancels"
)

// timeout returns the effect of a timeout at the point; "" for none. Methods without a
// context cannot be cancelled, and Dispatch returns at once.
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

// Abandons reports whether a hook with a timeout at the point runs on a goroutine of its own,
// and its late answer is dropped.
func (p Point) Abandons() bool { return p.timeout() == abandons }

// answers reports whether the composite can answer for a failed hook, so that a fail policy
// has an effect.
func (p Point) answers() bool { return p.Abandons() || p.Kind == "wrap" }

// narrows reports whether match= applies at the point. A hook's tools and prompt do not depend
// on single calls.
func (p Point) narrows() bool {
	return p.Kind != "facade" || p.Combine == "fold" || p.Combine == "each"
}

// rewrites reports whether hooks at the point may change the same value. At OnBuildAgent each reads a section of its own.
func (p Point) rewrites() bool { return p.Combine == "fold" && p.Place != "AgentConfig" }

// pairs returns the points that a tag may only exclude together: they open and close, or
// offer a tool and run it.
func pairs() [][2]string {
	return [][2]string{{"Schema", "Dispatch"}, {"OnRegisterAgent", "OnUnregisterAgent"}, {"OnOpen", "OnClose"}}
}

// illegal says why an option after the point has no effect; "" if it has one.
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
			return "runs at " + p.Name + " are not recorded", "drop it"
		}
	}
	return "", ""
}

// Allows returns the words that a tag may have after the point, in their order.
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
		return "a failure is reported and the others are called all the same"
	}
	return "a failure refuses the agent"
}

func awaited(p Point) string {
	switch p.Kind {
	case "decide":
		return "its answer decides"
	case "rewrite":
		return "its value is used at once"
	case "contribute":
		return "its contributions are used at once"
	case "wrap":
		return "it surrounds the operation"
	}
	return "the next call depends on its end"
}

func inTurn(p Point) string {
	switch p.Kind {
	case "decide":
		return "the first that blocks ends it"
	case "rewrite":
		return "each gets the value of the one before"
	case "wrap":
		return "each surrounds those after it"
	}
	return "observers may rely on the order"
}

// PointUse is one point of a member with its options there.
type PointUse struct {
	Name string `json:"name"`
	// Kind is the point's.
	Kind string `json:"kind,omitzero"`
	// Policy is failopen or failclosed if it is not the point's default, and failopen for
	// every decider and rewriter that fails open; otherwise "".
	Policy string `json:"policy,omitzero"`
	// Timeout is how long the hook may take. In options 0 is the point's default; in a plan
	// 0 and [NoTimeout] are no limit.
	Timeout Duration `json:"timeout,omitzero"`
	// Mode is record, background or parallel; "" is blocking.
	Mode string `json:"mode,omitzero"`
	// Visibility is that of the hook's runs at this point: internal, debug, audit or
	// user; "" is internal.
	Visibility string `json:"visibility,omitzero"`
}

// Unbounded reports whether the turn waits for the hook without a limit.
func (u PointUse) Unbounded() bool {
	return u.Timeout <= 0 && (u.Kind == "decide" || u.Kind == "rewrite" || u.Kind == "contribute")
}

// Options returns the policies in the form of a tag, "failopen,timeout=2m".
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

// over returns u with unset options taken from d.
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

// Duration is a time.Duration with the text form of tags: 2m, 800ms, or none for
// [NoTimeout].
type Duration time.Duration

// NoTimeout is the timeout none: the hook may take as long as it likes.
const NoTimeout Duration = -1

const noTimeout = "none"

// String returns the duration without parts that are zero.
func (d Duration) String() string {
	if d == NoTimeout {
		return noTimeout
	}
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

// UnmarshalText reads the text of MarshalText.
func (d *Duration) UnmarshalText(text []byte) error {
	if string(text) == noTimeout {
		*d = NoTimeout
		return nil
	}
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
