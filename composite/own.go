package composite

import "github.com/grapnel-go/grapnel/hook"

// Members returns the composite of self's members, as they are now, without the methods that
// the author of self has written. Such a method is called instead of the members; it calls
// them through a generated method compose…, which calls Members.
func Members(self interface {
	hook.Hook
	Compose() *Composite
}) *Composite {
	c := self.Compose()
	if c.membersOnly != nil {
		return c.membersOnly
	}
	return c
}
