// Package states finds the states of a hook: the fields of type [hook.TurnState] and
// [hook.ConversationState] in the structs of a subsystem, or of all members of a
// composite. A runtime does so when it opens; a test may, to see the names.
//
// The name in the store is the path of the field. With
//
//	type Core struct{ Cost *cost.Cost }   // a composite, the field Core of another one
//	type Cost struct{ total hook.ConversationState[cost.Total] }
//
// it is Core.Cost.total; [hook.ConversationState].Name takes the place of the last
// part, Shared that of the whole.
package states

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// Of returns the states of the hook and, if it is a composite, of its members and
// theirs. Those of a subsystem are fields of its struct, exported or not, of structs in it, and of
// structs that it points to; embedded ones count for the struct that they are in. A
// pointer to a hook that is not embedded is not followed: that one is asked where it
// is a member. A hook that is a member twice has its states once, under the path of
// the first.
//
// The error tells of everything that is wrong at once: one shared name for values of
// several types, two states of one name, values that JSON cannot hold and give back,
// states where they cannot be found again: in slices, arrays, maps, or in a hook that
// is held by value. h is not called. A composite is a *composite.Composite.
func Of(h hook.Hook) ([]hook.StateField, error) {
	f := &finder{seen: map[place]bool{}, keys: map[string]found{}}
	f.hook("", h)
	return f.fields, errors.Join(f.errs...)
}

// finder walks a hook.
type finder struct {
	fields []hook.StateField
	errs   []error
	// seen are the values that have been walked.
	seen map[place]bool
	// keys are the states by their names: in the store, or shared.
	keys map[string]found
}

// place is a value in memory: a struct and its first field are at one address.
type place struct {
	at  uintptr
	typ reflect.Type
}

// found is a state with where it was found.
type found struct {
	hook.StateField
	path string
}

func (f *finder) fail(path, format string, args ...any) {
	if path == "" {
		path = "the hook"
	}
	f.errs = append(f.errs, fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)))
}

var hookType = reflect.TypeFor[hook.Hook]()

// joined is what a composite has: the generated struct that it is of, if there is one,
// and its members.
type joined interface {
	Self() hook.Hook
	Members() iter.Seq2[string, hook.Hook]
}

// hook walks one hook and what it is made of.
func (f *finder) hook(path string, h hook.Hook) {
	c, nested := h.(joined)
	if nested {
		h = c.Self()
	}
	v := reflect.ValueOf(h)
	if v.Kind() == reflect.Pointer {
		at := place{v.Pointer(), v.Type()}
		if v.IsNil() || f.seen[at] {
			return
		}
		f.seen[at] = true
	}
	if v.IsValid() {
		f.value(path, v)
	}
	if nested {
		for name, member := range c.Members() {
			f.hook(join(path, name), member)
		}
	}
}

// value walks a value that may have states in it.
func (f *finder) value(path string, v reflect.Value) {
	if !holds(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.value(path, v.Elem())
		}
	case reflect.Struct:
		if v.CanAddr() {
			at := place{v.Addr().Pointer(), v.Type()}
			if f.seen[at] {
				return
			}
			f.seen[at] = true
		}
		for i := range v.NumField() {
			f.field(path, v.Type().Field(i), v.Field(i))
		}
	default:
		f.fail(path, "states in a value of type %v cannot be found again: make each a field of a struct", v.Type())
	}
}

func (f *finder) field(path string, sf reflect.StructField, v reflect.Value) {
	if s, ok := hook.StateFieldOf(v); ok {
		f.add(path, sf.Name, s)
		return
	}
	switch {
	case isState(sf.Type):
		f.fail(join(path, sf.Name), "a state in a hook that is held by value, so that each call would see another copy of it: hold a pointer")
	case isMember(sf):
	case sf.Anonymous && sf.Type.Kind() == reflect.Interface:
		if h, ok := embedded(sf, v); ok {
			f.hook(path, h)
		}
	case sf.Anonymous:
		f.value(path, v)
	default:
		f.value(join(path, sf.Name), v)
	}
}

// embedded returns the hook of an embedded interface: a hook that stands around
// another one has its states too.
func embedded(sf reflect.StructField, v reflect.Value) (hook.Hook, bool) {
	if !sf.IsExported() || !v.CanInterface() || v.IsNil() {
		return nil, false
	}
	h, ok := v.Interface().(hook.Hook)
	return h, ok
}

// isMember reports whether the field leads to hooks of their own.
func isMember(sf reflect.StructField) bool {
	t := sf.Type
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return !sf.Anonymous && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface) && t.Implements(hookType)
}

// add notes a state and holds it to those that are known.
func (f *finder) add(path, name string, s hook.StateField) {
	at := join(path, name)
	if s.Kept {
		if s.Name != "" {
			name = s.Name
		}
		s.Key = join(path, name)
		if s.Shared != "" {
			s.Key = s.Shared
		}
		if err := keepable(s.Type); err != nil {
			f.fail(at, "a hook.ConversationState[%v] cannot be kept: %w", s.Type, err)
			return
		}
	}
	key := s.Key
	if key == "" {
		key = s.Shared
	}
	other, known := f.keys[key]
	switch {
	case key == "":
	case !known:
		f.keys[key] = found{s, at}
	case s.Shared != other.Shared || s.Shared == "":
		f.fail(at, "its state has the name %s, which is that of %s too: set the Name of one of them", key, other.path)
	case s.Type != other.Type || s.Kept != other.Kept:
		f.fail(at, "the shared state %q is a %s here and a %s in %s: give them one type, or two names", s.Shared, kind(s), kind(other.StateField), other.path)
	}
	f.fields = append(f.fields, s)
}

func kind(s hook.StateField) string {
	if s.Kept {
		return fmt.Sprintf("hook.ConversationState[%v]", s.Type)
	}
	return fmt.Sprintf("hook.TurnState[%v]", s.Type)
}

// join puts a name behind a path.
func join(path, name string) string {
	return strings.TrimPrefix(path+"."+name, ".")
}

func isState(t reflect.Type) bool {
	_, ok := hook.StateFieldOf(reflect.New(t).Elem())
	return ok
}

// holds reports whether a value of the type may have states in it that are its own.
func holds(t reflect.Type) bool { return within(t, map[reflect.Type]bool{}) }

func within(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return within(t.Elem(), seen)
	case reflect.Struct:
		if isState(t) {
			return true
		}
		for i := range t.NumField() {
			sf := t.Field(i)
			if sf.Anonymous && sf.Type.Kind() == reflect.Interface && sf.Type.Implements(hookType) {
				return true // whatever is in it
			}
			if !isMember(sf) && within(sf.Type, seen) {
				return true
			}
		}
	}
	return false
}
