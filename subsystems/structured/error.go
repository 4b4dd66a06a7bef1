package structured

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/internal/schema"
)

// Error is why a turn failed whose model did not answer with the JSON that was asked for. The
// error of the turn's outcome wraps it.
type Error struct {
	// Name is that of the schema; "" is none.
	Name string
	// Problems are those of the last reply, at most five.
	Problems []Problem
	// Retries is how often the model was asked again.
	Retries int
}

// Problem is a place where a reply does not fit. It never quotes the reply, but for names of
// members.
type Problem struct {
	// Place is a JSON pointer into the reply: "/items/2/price". "" is the whole reply.
	Place string
	// Want names the expectation: "must be of type number".
	Want string
}

// Error returns one line.
func (e *Error) Error() string {
	name, tries := "the schema", "1 reply"
	if e.Name != "" {
		name += " " + e.Name
	}
	if e.Retries > 0 {
		tries = fmt.Sprintf("%d replies", e.Retries+1)
	}
	return fmt.Sprintf("the model's answer does not fit %s after %s: %s", name, tries, strings.Join(e.lines(), "; "))
}

func (e *Error) lines() []string {
	out := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		out[i] = schema.Problem(p).String()
	}
	return out
}

func problemsOf(found []schema.Problem) []Problem {
	var out []Problem
	for _, p := range found {
		out = append(out, Problem(p))
	}
	return out
}
