// Package pantry is an example of a subsystem: three typed tools over a little
// state. What a model sees of it, the schemas, the decoding of arguments and the
// dispatch, is generated into hook_gen.go.
package pantry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// Pantry knows what is in the kitchen. Make one with New.
//
//hook:subsystem
type Pantry struct {
	hook.Nop
	mu    sync.Mutex // calls of one step run concurrently
	stock map[string]int
}

// Amount is a number of pieces of one item.
type Amount struct {
	// Item in the singular, such as egg.
	Item string `json:"item" hook:"minlen=1,maxlen=40"`
	// Pieces of the item.
	Pieces int `json:"pieces" hook:"min=1,max=999"`
}

// Put adds pieces of an item and says how many there are now.
//
//hook:tool name=pantry_put
func (p *Pantry) Put(_ context.Context, in Amount) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stock[in.Item] += in.Pieces
	return fmt.Sprintf("%s: %d", in.Item, p.stock[in.Item]), nil
}

// Take takes pieces of an item out; there must be enough.
//
//hook:tool name=pantry_take destructive
func (p *Pantry) Take(_ context.Context, in Amount) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.stock[in.Item] - in.Pieces
	if left < 0 {
		return "", fmt.Errorf("there are only %d of %s", p.stock[in.Item], in.Item)
	}
	p.stock[in.Item] = left
	return fmt.Sprintf("%s: %d", in.Item, left), nil
}

// List returns everything that is there, sorted by item.
//
//hook:tool name=pantry_list readonly
func (p *Pantry) List(context.Context) ([]Amount, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []Amount{}
	for _, item := range slices.Sorted(maps.Keys(p.stock)) {
		all = append(all, Amount{item, p.stock[item]})
	}
	return all, nil
}

// SystemPrompt is told to agents that have at least one of the tools.
func (*Pantry) SystemPrompt(cfg *hook.AgentConfig) string {
	return "Look into the pantry with " + cfg.ToolName(ToolPantryList) + " before you plan a meal."
}

// New returns an empty pantry.
func New() *Pantry { return &Pantry{stock: map[string]int{}} }
