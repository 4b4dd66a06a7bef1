package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/grapnel-go/grapnel/hook/message"
)

// TurnState is a value that a subsystem keeps for each turn: a field of its struct, whose zero value works. It starts as the zero T
// with every turn, a child's included, and ends with it. It is in memory only: a turn that another process resumes starts with the
// zero T again.
//
//	type Guard struct {
//		hook.Nop
//		calls hook.TurnState[int]
//	}
//
// Each field is a state of its own, so two values of one subsystem share nothing. Do not copy a struct with such a field after its
// first use.
//
// T is a value: never change the contents of its pointers, maps and slices after Update has returned it, because all callers of Get
// share them. Appending to a slice is fine.
//
// It is safe for concurrent use. A turn in which nothing was set spends no memory on it.
type TurnState[T any] struct {
	_ noCopy
	// Shared names a state that several subsystems share: all fields of one name have one value and must have the same T. A use with
	// another T panics. "" is a state of this field only. Set it before the first use.
	Shared string
}

// Get returns the state of the turn; the zero T before the first Update. It does not allocate.
func (s *TurnState[T]) Get(t *Turn) T { return getState[T](t.states.Load(), s.id()) }

// Update atomically sets the state to f's result and returns it. It calls f once, under the lock of this state: f must be short, call
// Get and Update of no state, and have no other effect. If f panics the state stays as it was.
func (s *TurnState[T]) Update(t *Turn, f func(T) T) T {
	return updateState(statesOf(&t.states), s.id(), f)
}

func (s *TurnState[T]) id() stateID {
	if s.Shared != "" {
		return stateID{shared: s.Shared}
	}
	return stateID{field: s}
}

// ConversationState is a value that a subsystem keeps for each conversation: a field of its struct like a [TurnState], with the same
// rules for T. The subsystem declares it in [Stateful]. A child turn has a conversation of its own, and so a state of its own; use the
// conversation of [Turn.Root] for what children share with the turn that a user started.
//
// A runtime stores it with the conversation: it writes a changed state atomically with the next part of the turn, and reads it when
// this or another process loads the conversation. A change outside of a turn is written with the next turn. A fork starts with a copy.
// A rewind leaves the state alone, because the events that it counts have happened.
//
// The store holds the JSON of T, so every field that matters is exported. The runtime refuses to open with a T that JSON cannot hold. A
// value that cannot be encoded fails the turn and is not stored. If a stored value does not fit T any more, the runtime emits a
// diagnostic and the state starts as the zero T. Every change encodes the whole T: keep it small.
type ConversationState[T any] struct {
	_ noCopy
	// Shared is that of TurnState. It is also the key in the store.
	Shared string
}

// Get returns the state of the conversation; the zero T before the first Update. It does not allocate.
func (s *ConversationState[T]) Get(c *Conversation) T { return getState[T](c.states.Load(), s.id()) }

// Update is that of [TurnState].
func (s *ConversationState[T]) Update(c *Conversation, f func(T) T) T {
	return updateState(statesOf(&c.states), s.id(), f)
}

// Stateful is implemented by a subsystem with a [ConversationState].
type Stateful interface {
	// States returns the addresses of all of them by name. The path of the subsystem in the composite and the name are the key in the
	// store: "total" of the field Core.Cost is "Core.Cost.total". Renaming either loses the stored value. States is called when the
	// runtime opens, and must always return the same addresses.
	States() map[string]State
}

// State is a pointer to a [ConversationState].
type State interface {
	// Key returns the key in the store of a state with this path: the path, or the shared name.
	Key(path string) string
	// Type is the type of the value.
	Type() reflect.Type

	id() stateID
	// read returns a cell with the stored value.
	read(key string, data message.JSON) (stateCell, error)
}

// Key implements [State].
func (s *ConversationState[T]) Key(path string) string { return cmp.Or(s.Shared, path) }

// Type implements [State].
func (s *ConversationState[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

func (s *ConversationState[T]) id() stateID {
	if s.Shared != "" {
		return stateID{shared: s.Shared, kept: true}
	}
	return stateID{field: s, kept: true}
}

func (s *ConversationState[T]) read(key string, data message.JSON) (stateCell, error) {
	c := &cell[T]{stored: stored{key: key, data: data}}
	return c, json.Unmarshal([]byte(data), &c.value)
}

// stateID is the key of a state among those of one place.
type stateID struct {
	// field points to the field; nil for a shared state.
	field  any
	shared string
	// kept: a ConversationState.
	kept bool
}

// noCopy makes go vet complain of copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

func getState[T any](s *States, id stateID) (value T) {
	if s == nil {
		return value
	}
	s.mu.Lock()
	c, ok := s.cells[id]
	s.mu.Unlock()
	if !ok {
		return value
	}
	return cellAs[T](c, id).get()
}

func updateState[T any](s *States, id stateID, f func(T) T) T {
	s.mu.Lock()
	c, ok := s.cells[id]
	if !ok {
		c = &cell[T]{stored: stored{key: s.key(id)}}
		if s.cells == nil {
			s.cells = map[stateID]stateCell{}
		}
		s.cells[id], s.list = c, nil
	}
	s.mu.Unlock()
	return cellAs[T](c, id).update(f)
}

func cellAs[T any](c stateCell, id stateID) *cell[T] {
	typed, ok := c.(*cell[T])
	if !ok {
		panic(fmt.Sprintf("hook: state %q: it is used as a %v and as another type: give its fields the same type, or different names", id.shared, reflect.TypeFor[T]()))
	}
	return typed
}
