// Package states finds the states of conversations that the subsystems of a composite declare ([hook.Stateful]), and checks them. A
// runtime does so when it opens; a test may, to see the keys.
package states

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// Of returns the states that the hook and, if it is a composite, its members declare, by their keys in the store: the path of the
// member and the name of the state, "Core.Cost.total", or the shared name. A hook that is a member twice has its states once, under the
// path of the first.
//
// The error lists all problems: one shared name for values of several types, two states of one key, values that do not survive JSON. A
// composite is a *composite.Composite.
func Of(h hook.Hook) (map[string]hook.State, error) {
	f := finder{keys: map[string]hook.State{}, paths: map[string]string{}, seen: map[hook.State]bool{}}
	f.hook("", h)
	return f.keys, errors.Join(f.errs...)
}

// finder collects the states of a hook.
type finder struct {
	keys map[string]hook.State
	// paths maps each key to the path of its declaration.
	paths map[string]string
	seen  map[hook.State]bool
	errs  []error
}

// joined is implemented by a composite.
type joined interface {
	Self() hook.Hook
	Members() iter.Seq2[string, hook.Hook]
}

func (f *finder) hook(path string, h hook.Hook) {
	c, nested := h.(joined)
	if nested {
		h = c.Self()
	}
	if s, ok := h.(hook.Stateful); ok && !isNil(h) {
		declared := s.States()
		for _, name := range slices.Sorted(maps.Keys(declared)) {
			f.add(join(path, name), declared[name])
		}
	}
	if nested {
		for name, member := range c.Members() {
			f.hook(join(path, name), member)
		}
	}
}

// add adds a state that the subsystem at the path declares.
func (f *finder) add(path string, s hook.State) {
	if f.seen[s] {
		return
	}
	f.seen[s] = true
	if err := keepable(s.Type()); err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: a hook.ConversationState[%v] cannot be stored: %w", path, s.Type(), err))
		return
	}
	key := s.Key(path)
	other, known := f.keys[key]
	switch {
	case !known:
		f.keys[key], f.paths[key] = s, path
	case s.Key("") != key || other.Key("") != key:
		f.errs = append(f.errs, fmt.Errorf("%s: its state has the key %s, which is that of %s too: rename one of them", path, key, f.paths[key]))
	case s.Type() != other.Type():
		f.errs = append(f.errs, fmt.Errorf("%s: the shared state %q is a hook.ConversationState[%v] here and a hook.ConversationState[%v] in %s: give them the same type, or different names",
			path, key, s.Type(), other.Type(), f.paths[key]))
	}
}

func isNil(h hook.Hook) bool {
	v := reflect.ValueOf(h)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }
