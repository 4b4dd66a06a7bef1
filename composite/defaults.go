package composite

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
)

// defaulted is implemented by generated code of a subsystem with default options.
type defaulted interface{ HookDefaults() string }

// defaultsOf returns the subsystem's default options. The generated method names its
// type, so that a type which only embeds a subsystem does not inherit its defaults, as
// with hookgen.
func defaultsOf(h hook.Hook) plan.Defaults {
	if h == nil {
		return plan.Defaults{}
	}
	s, ok := h.(defaulted)
	if !ok { // a value: the method has a pointer receiver
		s, ok = reflect.New(reflect.TypeOf(h)).Interface().(defaulted)
	}
	if !ok {
		return plan.Defaults{}
	}
	name, text, _ := strings.Cut(s.HookDefaults(), " ")
	if name != strings.TrimPrefix(fmt.Sprintf("%T", h), "*") {
		return plan.Defaults{}
	}
	d, _ := plan.ParseDefaults(text, planPoints(everyPoint)) // the generator has checked it
	return d
}
