package contribution

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Standing says whether an agent may get a tool with a given name.
type Standing int

// The standings of a name.
const (
	// Free: no tool has that name, and the agent may get one.
	Free Standing = iota
	// Own: the agent has the tool.
	Own
	// Barred: the tool exists, but the agent may not use it.
	Barred
	// Unlisted: the agent's configuration lists its tools, and does not list that name.
	Unlisted
	// Above: the agent whose turn runs this one may not use the tool.
	Above
	// Visiting: the agent is a guest of the conversation, and has no tools.
	Visiting
)

// outOfScope explains the standings outside an agent's scope.
var outOfScope = map[Standing]string{
	Barred:   "its owner keeps it from this agent, the agent's list of tools does not name it, or a rule keeps it from this sender",
	Unlisted: "the agent's configuration lists its tools and does not name this one, so only an agent without a list can be given it",
	Above:    "the agent whose turn runs this one may not use it; give it to that one as well",
	Visiting: "a guest of a conversation has no tools",
}

// Tools are a turn's changes of the agent's tools.
type Tools struct {
	// Hidden has the names of the agent's tools that are hidden, sorted.
	Hidden []string
	// Added has further tools, heaviest bundle first; each has its owner.
	Added       []hook.AddedTool
	Diagnostics []hook.Diagnostic
}

// MergeTools merges the changes. Of several bundles with one id, the heaviest counts. A
// tool that any bundle hides is hidden, also if another bundle adds it. A tool is added
// if its name is valid and free, its schemas are JSON objects, the agent may use it, and
// its owner takes its calls. binds returns an error if the owner does not. Of two added
// tools with one name, the one of the heavier bundle counts.
func MergeTools(in []hook.ToolChange, standing func(name string) Standing, binds func(hook.AddedTool) error) Tools {
	var out Tools
	changes := out.distinct(heaviest(in, func(c hook.ToolChange) int { return c.Weight }))
	hidden, wanted := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		for _, n := range c.Hide.All() {
			hidden[n] = true
		}
		for _, a := range c.Add.All() {
			wanted[a.Tool.Name] = true
		}
	}
	owners := map[string]string{}
	for _, c := range changes {
		out.hide(c, wanted, standing)
		for _, a := range c.Add.All() {
			a.Owner = cmp.Or(a.Owner, c.By)
			code, why := refusal(a.Tool, hidden, owners, standing)
			if code == "" {
				code, why = unowned(a, binds)
			}
			if code != "" {
				out.Diagnostics = append(out.Diagnostics, remark(code, c.By, "tool%s is not added: %s", toolName(a.Tool.Name), why))
				continue
			}
			owners[a.Tool.Name] = a.Owner
			out.Added = append(out.Added, a)
		}
	}
	slices.Sort(out.Hidden)
	out.Hidden = slices.Compact(out.Hidden)
	return out
}

// distinct drops bundles whose id occurred before.
func (out *Tools) distinct(in []hook.ToolChange) []hook.ToolChange {
	kept, seen := in[:0:0], map[string]bool{}
	for _, c := range in {
		if c.ID != "" && seen[c.ID] {
			out.Diagnostics = append(out.Diagnostics, remark(event.CodeToolsDuplicate, c.By, "bundle%s is there already and is left out", name(c.ID)))
			continue
		}
		seen[c.ID] = true
		kept = append(kept, c)
	}
	return kept
}

func (out *Tools) hide(c hook.ToolChange, wanted map[string]bool, standing func(string) Standing) {
	for _, n := range c.Hide.All() {
		switch {
		case standing(n) == Own:
			out.Hidden = append(out.Hidden, n)
		case !wanted[n]:
			out.Diagnostics = append(out.Diagnostics, remark(event.CodeToolUnknown, c.By, "tool%s is not hidden: the agent does not have it", toolName(n)))
		}
	}
}

// refusal returns the code and the reason for which the tool is not added; "" if it is.
func refusal(t message.Tool, hidden map[string]bool, owners map[string]string, standing func(string) Standing) (hook.DiagnosticCode, string) {
	owner, added := owners[t.Name]
	switch s := standing(t.Name); {
	case !message.ValidToolName(t.Name):
		return event.CodeToolInvalid, "its name has to match ^[a-zA-Z0-9_-]{1,64}$"
	case slices.Contains(strings.Fields(hook.ReservedTools), t.Name):
		return event.CodeToolReserved, "that name is reserved"
	case !isObject(t.Input) || !isObject(t.Output):
		return event.CodeToolInvalid, "one of its schemas is not a JSON object"
	case s == Own:
		return event.CodeToolConflict, "the agent has a tool of that name"
	case s != Free:
		return event.CodeToolScope, "it is not in the agent's scope: " + outOfScope[s]
	case hidden[t.Name]:
		return event.CodeToolHidden, "it is hidden in this turn"
	case added:
		return event.CodeToolConflict, who(owner) + " adds a tool of that name"
	}
	return "", ""
}

// ownerPattern matches paths of subsystems. Any other text might be a value.
var ownerPattern = regexp.MustCompile(`^[a-zA-Z0-9_.\[\]]*$`)

// unowned returns the code and the reason for which the owner would not bind the tool's
// calls; "" if it would.
func unowned(a hook.AddedTool, binds func(hook.AddedTool) error) (hook.DiagnosticCode, string) {
	if len(a.Owner) > 200 || !ownerPattern.MatchString(a.Owner) {
		return event.CodeToolOwner, "its owner is not the path of a subsystem"
	}
	if err := binds(a); err != nil {
		return event.CodeToolOwner, err.Error()
	}
	return "", ""
}

func isObject(schema message.JSON) bool {
	return schema == "" || schema[0] == '{' && json.Valid([]byte(schema))
}

func toolName(n string) string {
	if !message.ValidToolName(n) {
		return ""
	}
	return " " + n
}
