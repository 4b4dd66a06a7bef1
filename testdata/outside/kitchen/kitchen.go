// Package kitchen composes the hooks of this program.
package kitchen

import (
	"context"

	"example.com/pantry/subsystems/larder"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/tool"
)

// Kitchen is the one hook of the program.
//
//hook:composite
type Kitchen struct {
	Larder *larder.Larder
	Extra  []hook.Hook
}

// New returns a kitchen with an empty larder and a bell.
func New() *Kitchen {
	bell := tool.New("bell", "Bell calls everybody to the table.", func(context.Context, struct{}) (string, error) {
		return "they are coming", nil
	}, nil)
	return &Kitchen{Larder: larder.New(), Extra: []hook.Hook{tool.Set(bell)}}
}
