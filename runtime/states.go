package runtime

import (
	"fmt"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/internal/states"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// findStates finds the conversation states of the hook and checks that the store keeps them.
func (r *Runtime) findStates(c *composite.Composite) error {
	keys, err := states.Of(c)
	if err != nil {
		return fmt.Errorf("states: %w", err)
	}
	r.states = keys
	if _, ok := r.o.Store.(store.States); !ok && !r.volatile && len(r.states) > 0 {
		return fmt.Errorf("the hook has a conversation state, %s, but a store of type %T does not keep states: use a store that implements store.States", slices.Min(slices.Collect(maps.Keys(keys))), r.o.Store)
	}
	return nil
}
