// Package choose is how a person says which model answers: by flags of a command, or by a yes to
// a model server that was found on this machine. Without either it names the ways to a model.
package choose

import (
	"errors"
	"math"
	"strconv"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/app"
)

// Flags are the values of the flags about the model. The zero value leaves everything to the
// agent.
type Flags struct {
	Name        string
	Reasoning   Reasoning
	Temperature Temperature
	MaxTokens   MaxTokens
}

// Model returns the model of the flags.
func (f *Flags) Model() message.Model {
	return message.Model{
		Name: app.AbsoluteModel(f.Name), Reasoning: message.Reasoning(f.Reasoning), Temperature: f.Temperature.Optional,
		MaxTokens: int(f.MaxTokens),
	}
}

// Reasoning is a flag with how much a model may think.
type Reasoning message.Reasoning

// String implements pflag.Value.
func (r *Reasoning) String() string {
	if r.Budget > 0 {
		return strconv.Itoa(r.Budget)
	}
	return string(r.Effort)
}

// Type implements pflag.Value.
func (r *Reasoning) Type() string { return "effort" }

// Set implements pflag.Value.
func (r *Reasoning) Set(text string) error {
	parsed, err := agentfile.ParseReasoning(text)
	*r = Reasoning(parsed)
	return err
}

// Temperature is a flag with a number from 0 on.
type Temperature struct{ message.Optional[float64] }

// String implements pflag.Value.
func (t *Temperature) String() string {
	if !t.Optional.Set {
		return ""
	}
	return strconv.FormatFloat(t.Value, 'g', -1, 64)
}

// Type implements pflag.Value.
func (t *Temperature) Type() string { return "number" }

// Set implements pflag.Value.
func (t *Temperature) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= math.MaxFloat32) { // NaN is neither
		return errors.New("write a number from 0 on, such as 0.2")
	}
	t.Optional = message.Some(n)
	return nil
}

// MaxTokens is a flag with a number of tokens.
type MaxTokens int

// String implements pflag.Value.
func (m *MaxTokens) String() string {
	if *m == 0 {
		return ""
	}
	return strconv.Itoa(int(*m))
}

// Type implements pflag.Value.
func (m *MaxTokens) Type() string { return "tokens" }

// Set implements pflag.Value.
func (m *MaxTokens) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return errors.New("write a number of tokens such as 4096")
	}
	*m = MaxTokens(n)
	return nil
}
