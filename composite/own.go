package composite

import "github.com/grapnel-go/grapnel/hook"

// Members returns what the generated methods compose… of self call: the composite of its
// members alone, as they are now. Where the author of a composite has written a method of
// a point, that one is called in the place of the members, and may ask them in turn.
func Members(self interface {
	hook.Hook
	Compose() *Composite
}) *Composite {
	c := self.Compose()
	if c.behind != nil {
		return c.behind
	}
	return c
}
