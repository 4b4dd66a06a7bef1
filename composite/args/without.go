package args

import "github.com/grapnel-go/grapnel/hook/message"

// Guide knows a value of arguments whose type is known only at run time. See [Without].
type Guide interface {
	// Member returns the guide of a member's value, nil if nothing is known of it, and
	// whether null there counts as not given.
	Member(name string) (value Guide, absent bool)
	// Item returns the guide of the elements of a list, nil if nothing is known of them.
	Item() Guide
}

// Without returns canonical arguments without the members that are null and, as the
// guide says, count as not given. It is what [Object.Given] does where the type is
// known. Arguments without such members are returned themselves.
func Without(canonical message.JSON, g Guide) message.JSON {
	var d Decoder
	d.load(string(canonical))
	d.follow(g)
	if d.err != nil {
		return canonical
	}
	return d.canonical()
}

func (d *Decoder) follow(g Guide) {
	switch c := d.peek(); {
	case g == nil, c != '{' && c != '[':
		d.skip()
	case c == '{':
		for o := d.Object(); o.Next(); {
			value, absent := g.Member(o.Key())
			if absent && d.Null() {
				d.leaveOut()
				continue
			}
			d.follow(value)
		}
	default:
		for a := d.Array(); a.Next(); {
			d.follow(g.Item())
		}
	}
}
