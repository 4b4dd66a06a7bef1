package composite

import (
	"github.com/grapnel-go/grapnel/composite/internal/states"
	"github.com/grapnel-go/grapnel/hook"
)

// States returns the states of conversations that the hook and its members declare ([hook.Stateful]), by their keys in the store:
// the path of the member and the name of the state, "Core.Cost.total", or the shared name. A hook that is a member twice has its
// states once, under the path of the first.
//
// The error joins everything that is wrong: one shared name for values of several types, two states of one key, values that JSON
// cannot hold and give back.
func (c *Composite) States() (map[string]hook.State, error) { return states.Of(c) }
