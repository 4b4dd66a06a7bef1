// Package offer changes which tools a request offers to the model. Subsystems share it, so that all of them
// treat a forced tool and an empty list alike.
package offer

import (
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Filter returns the set with the tools for which keep is true, in their order; the set itself if that is all of them.
func Filter(set *message.ToolSet, keep func(message.Tool) bool) *message.ToolSet {
	tools := set.Tools()
	for _, t := range tools.All() {
		if !keep(t) {
			return message.NewToolSet(slices.DeleteFunc(tools.Slice(), func(t message.Tool) bool { return !keep(t) }))
		}
	}
	return set
}

// Has reports whether the set has a tool of that name.
func Has(set *message.ToolSet, name string) bool {
	for _, t := range set.Tools().All() {
		if t.Name == name {
			return true
		}
	}
	return false
}

// Only returns the request with the tools of the set, which are some of its own. A choice that forces a tool outside of the set
// becomes auto. If the set is empty, the tools stay and the choice is none, because some providers refuse a history with calls
// and a request without tools.
func Only(req message.ModelRequest, set *message.ToolSet) message.ModelRequest {
	switch choice := &req.Model.Choice; {
	case set.Tools().Len() == 0 && req.Tools.Tools().Len() > 0:
		*choice = message.ToolChoice{Mode: message.ToolChoiceNone}
		return req
	case choice.Mode == message.ToolChoiceTool && !Has(set, choice.Tool):
		*choice = message.ToolChoice{}
	}
	req.Tools = set
	return req
}
