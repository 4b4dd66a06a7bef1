package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Check returns an error for every setting that the model refuses, joined, each with what would
// work; nil if there is none. m.Name is the model's id without its vendor.
func (c *Catalog) Check(vendor string, m message.Model) error {
	err := c.Family(vendor, m.Name).Check(m)
	if known, ok := c.Model(vendor, m.Name); ok && known.Output > 0 && m.MaxTokens > known.Output {
		err = errors.Join(err, fmt.Errorf("model %s: an answer has at most %d tokens, and max_tokens is %d", m.Name, known.Output, m.MaxTokens))
	}
	return err
}

// Check is [Catalog.Check] for what the family alone says.
func (f Family) Check(m message.Model) error {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("model %s: "+format, append([]any{m.Name}, args...)...))
	}
	f.checkReasoning(m, refuse)
	f.checkSampling(m, refuse)
	if m.Seed.Set && f.Seed == Never {
		refuse("it takes no seed; leave seed out")
	}
	if m.Stop.Len() > 0 && f.Stop == Never {
		refuse("it takes no stop texts; leave stop out, and ask for the end in the prompt")
	}
	f.checkChoice(m, refuse)
	if m.Format.Schema != "" && !f.Has(Structured) {
		refuse("it has no answers that fit a schema; leave the format out")
	}
	return errors.Join(errs...)
}

func (f Family) checkReasoning(m message.Model, refuse func(string, ...any)) {
	r := m.Reasoning
	switch {
	case r.Budget > 0:
		f.checkBudget(m, refuse)
	case r.Effort == "":
	case f.Reasoning == None:
		if r.Effort != message.EffortOff {
			refuse("it does not reason; leave reasoning out")
		}
	case r.Effort == message.EffortOff:
		if f.Off == "" {
			refuse("its reasoning cannot be turned off; set reasoning to %s", f.choices(false))
		}
	case !f.takes(r.Effort):
		refuse("it has no reasoning effort %q; set reasoning to %s", r.Effort, f.choices(true))
	}
	if n := f.Budgets[string(r.Effort)]; r.Budget == 0 && n > 0 && m.MaxTokens > 0 && n >= m.MaxTokens {
		refuse("reasoning %s needs %d tokens, and max_tokens, which includes them, is %d; raise max_tokens, or set reasoning to a smaller number of tokens", r.Effort, n, m.MaxTokens)
	}
}

func (f Family) checkBudget(m message.Model, refuse func(string, ...any)) {
	n := m.Reasoning.Budget
	switch {
	case f.Reasoning == None:
		refuse("it does not reason; leave reasoning out")
	case f.Budget.Max == 0:
		refuse("it has no budget for reasoning; set reasoning to %s", f.choices(true))
	case n < f.Budget.Min || n > f.Budget.Max:
		refuse("a budget for reasoning is %d to %d tokens, and it is %d", f.Budget.Min, f.Budget.Max, n)
	case m.MaxTokens > 0 && n >= m.MaxTokens:
		refuse("the budget for reasoning is %d tokens, and max_tokens, which includes them, is %d; raise max_tokens or lower the budget", n, m.MaxTokens)
	}
}

func (f Family) checkSampling(m message.Model, refuse func(string, ...any)) {
	var set []string
	if m.Temperature.Set {
		set = append(set, "temperature")
	}
	if m.TopP.Set {
		set = append(set, "top_p")
	}
	if set == nil {
		return
	}
	names := strings.Join(set, " and ")
	switch {
	case f.Sampling == Never:
		refuse("it takes no %s; leave %s out", strings.Join(set, " and no "), names)
	case f.Sampling == WithoutReasoning && f.reasons(m.Reasoning):
		refuse("it takes %s only without reasoning; set reasoning to off, or leave %s out", names, names)
	}
}

func (f Family) checkChoice(m message.Model, refuse func(string, ...any)) {
	if m.Choice.Mode != message.ToolChoiceRequired && m.Choice.Mode != message.ToolChoiceTool {
		return
	}
	switch {
	case f.Forced == Never:
		refuse("it cannot be made to call a tool; set tool_choice to auto or none")
	case f.Forced == WithoutReasoning && f.reasons(m.Reasoning):
		refuse("it can be made to call a tool only without reasoning; set reasoning to off, or tool_choice to auto")
	}
}

// reasons reports whether the model thinks with this setting.
func (f Family) reasons(r message.Reasoning) bool {
	switch {
	case f.Reasoning == None:
		return false
	case r.Budget > 0:
		return true
	case r.Effort == "":
		return f.DefaultOn
	}
	return r.Effort != message.EffortOff
}

// takes reports whether requests can say the effort.
func (f Family) takes(e message.Effort) bool {
	return slices.Contains(f.Efforts, string(e)) || f.Budgets[string(e)] > 0
}

// choices names the settings of reasoning that the family has.
func (f Family) choices(off bool) string {
	var out []string
	if off && f.Off != "" {
		out = append(out, string(message.EffortOff))
	}
	for _, e := range []message.Effort{message.EffortLow, message.EffortMedium, message.EffortHigh} {
		if f.takes(e) {
			out = append(out, string(e))
		}
	}
	if f.Budget.Max > 0 {
		out = append(out, fmt.Sprintf("a number of tokens from %d to %d", f.Budget.Min, f.Budget.Max))
	}
	switch n := len(out); n {
	case 0:
		return "nothing"
	case 1:
		return out[0]
	default:
		return strings.Join(out[:n-1], ", ") + " or " + out[n-1]
	}
}
