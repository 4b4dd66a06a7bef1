package plan

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// The problems below are about a field or a type that looks like a hook and would never be
// called. Generator and dynamic composite share their texts; the caller adds field and
// position.

const leaveOut = "tag the field `hook:\"-\"`"

// NoHook says that a type should be a hook but is none. missing are the methods of hook.Hook
// that it lacks; nil if it has none of them. An interface gets another fix, because it cannot
// embed hook.Nop.
func NoHook(typ string, missing []string, isInterface bool) Problem {
	p := Problem{Code: "HG012", Message: typ + " is no hook", Fix: "embed hook.Nop in it, or " + leaveOut}
	if missing != nil {
		p.Message = typ + " is no hook.Hook: it does not have " + strings.Join(missing, ", ")
	}
	if isInterface {
		p.Fix = "make the field a hook.Hook, or " + leaveOut
	}
	return p
}

// Misfit says that a method has the name of a point and another signature.
func Misfit(typ, point string, facade bool) Problem {
	of := "hook." + point
	if facade {
		of = "hook.Hook"
	}
	return Problem{
		Code: "HG012", Message: fmt.Sprintf("(%s).%s does not fit %s, so it would never be called", typ, point, of),
		Fix: "change the signature, or the name",
	}
}

// Near says that a method's name is close to a point's.
func Near(typ, method, point string) Problem {
	return Problem{
		Code: "HG013", Message: fmt.Sprintf("(%s).%s looks like the point %s and is never called", typ, method, point),
		Fix: "call it " + point,
	}
}

// Nearest returns the point whose name is closest to the name of a method, or "" if none is close.
func Nearest(method string, points []string) string {
	best, least := "", 0
	for _, p := range points {
		if d := spell.Distance(method, p); d <= min(2, len(p)/4) && (best == "" || d < least) {
			best, least = p, d
		}
	}
	return best
}

// NilNop says that a type embeds *hook.Nop.
func NilNop(typ string) Problem {
	return Problem{
		Code: "HG017", Message: typ + " embeds *hook.Nop: while the pointer is nil, every method of it panics",
		Fix: "embed hook.Nop",
	}
}

// NoGroup says that a field is a slice of another type than hook.Hook.
func NoGroup(field, typ string) Problem {
	return Problem{Code: "HG016", Message: "a group is a []hook.Hook, not a " + typ, Fix: field + " []hook.Hook, or " + leaveOut}
}

// Holds says that a field contains hooks that are never called.
func Holds(typ, what string) Problem {
	return Problem{
		Code: "HG016", Message: fmt.Sprintf("%s holds %s, and no hook inside is called", typ, what),
		Fix: "give each hook a field of its own, or put them in a []hook.Hook, or " + leaveOut,
	}
}

// Blank says that a field has a hook and no name.
func Blank() Problem {
	return Problem{Code: "HG016", Message: "a hook in a field without a name can neither be set nor called", Fix: "give the field a name, or " + leaveOut}
}

// BareFunc says that a field is a function of a point's signature.
func BareFunc(field, point string) Problem {
	return Problem{
		Code: "HG016", Message: "a function of the signature of hook." + point + " is no hook and is never called",
		Fix: fmt.Sprintf("%s hook.Hook, set to point.%sFunc(…), or %s", field, point, leaveOut),
	}
}

// BadTag says that a struct tag with the word hook is not of the form key:"value", so that reflect does not find it.
func BadTag(tag string) (Problem, bool) {
	p := Problem{Code: "HG009", Message: "the tag is not in the form hook:\"…\"", Fix: "write it in back quotes, keys with a blank between: `json:\"name\" hook:\"…\"`"}
	return p, strings.Contains(strings.ToLower(tag), "hook") && !wellFormed.MatchString(tag)
}

// wellFormed matches the form that reflect.StructTag reads.
var wellFormed = regexp.MustCompile(`^ *([^\x00-\x20:"\x7f]+:"([^"\\\n]|\\[^\n])*" *)*$`)

// NearKey says that the key of a struct tag is a misspelt hook; false if it is not.
func NearKey(key string) (Problem, bool) {
	p := Problem{Code: "HG009", Message: fmt.Sprintf("unknown tag key %q", key), Fix: "write hook:\"…\""}
	return p, key != "hook" && spell.Closest(key, []string{"hook"}) != ""
}
