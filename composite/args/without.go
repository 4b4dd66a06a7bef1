package args

import "github.com/grapnel-go/grapnel/hook/message"

// Guide describes a value of arguments whose type is known only at run time. See [Without].
type Guide interface {
	// Member returns the guide of a member's value, nil if it is unknown, and whether
	// null there counts as absent.
	Member(name string) (value Guide, absent bool)
	// Item returns the guide of the elements of a list, nil if they are unknown.
	Item() Guide
}

// Without returns canonical arguments without the null members that count as absent
// according to the guide. [Object.Given] does the same for known types. Arguments without
// such members are returned unchanged.
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
