package hook

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/grapnel-go/grapnel/hook/message"
)

// TurnState is a value that a subsystem keeps for each turn: a field of its struct,
// whose zero value works. It starts as the zero T with every turn, a child's
// included, and ends with it. It is in memory only: a turn that is resumed in
// another process starts with the zero T again.
//
//	type Guard struct {
//		hook.Nop
//		calls hook.TurnState[int]
//	}
//
// Each field is a state of its own, so two values of one subsystem in one composite
// share nothing. A struct with such a field must not be copied after its first use.
//
// T is a value: what its pointers, maps and slices lead to is never changed after
// it was returned to Update, because everybody who calls Get holds the same.
// Appending to a slice is fine.
//
// It is safe for concurrent use. As long as nothing was set in a turn, it costs no
// memory there.
type TurnState[T any] struct {
	_ noCopy
	// Shared is the name of a state that several subsystems have in common without
	// knowing each other: all fields of one name lead to one value. They have the
	// same T, or the composite cannot be opened. "" is a state of this field's own.
	// It is not changed after the first use.
	Shared string
}

// Get returns the state of the turn; the zero T before the first Update. It does
// not allocate.
func (s *TurnState[T]) Get(t *Turn) T {
	return getState[T](t.states.Load(), s.id())
}

// Update sets the state to what f makes of it, in one step, and returns that. f is
// called once, while everybody else who wants this state waits: it is short, calls
// Get and Update of no state, and does nothing but return the new value. If it panics
// the state stays as it was.
func (s *TurnState[T]) Update(t *Turn, f func(T) T) T {
	return cellOf[T](statesOf(&t.states), s.id(), s).update(f)
}

func (s *TurnState[T]) id() stateID { return idOf(s, s.Shared, false) }

// ConversationState is a value that a subsystem keeps for each conversation: a
// field of its struct as a [TurnState] is, with the same rules for T. A child turn
// has a conversation of its own, and so has its state; what children are to share
// with the turn that a user started belongs to the conversation of [Turn.Root].
//
// A runtime keeps it with the conversation: what has changed is written together
// with the next part of the turn, in one step, and read back when the conversation
// goes on, in this process or in another. What is set outside of a turn is written
// with the next one. A fork has the same state from then on; a rewind leaves it as
// it is, because what it counts has happened.
//
// Its form in the store is the JSON of T, so every field that matters is exported.
// A T that JSON cannot hold is refused when the composite is opened; a value of it
// that cannot be encoded fails the turn, and is not kept. A stored value that is no
// T any more is told by a diagnostic, and the state starts as the zero T. The whole
// T is encoded whenever it has changed: it is small.
type ConversationState[T any] struct {
	_ noCopy
	// Name is that of the state among those of its subsystem; "" is the name of the
	// field. Together with the path of the subsystem in the composite it is the name
	// in the store, Core.Cost.total: who renames one of them parts with what is kept.
	// It is not changed after the first use.
	Name string
	// Shared is that of TurnState. It is the name in the store too.
	Shared string
}

// Get returns the state of the conversation; the zero T before the first Update. It
// does not allocate.
func (s *ConversationState[T]) Get(c *Conversation) T {
	return getState[T](c.states.Load(), s.id())
}

// Update is that of [TurnState].
func (s *ConversationState[T]) Update(c *Conversation, f func(T) T) T {
	return cellOf[T](statesOf(&c.states), s.id(), s).update(f)
}

func (s *ConversationState[T]) id() stateID { return idOf(s, s.Shared, true) }

// noCopy makes go vet complain of copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// stateID tells states of one place apart.
type stateID struct {
	// field is the address of the field; 0 for a shared state.
	field  uintptr
	shared string
	// kept: it is a ConversationState.
	kept bool
}

func idOf(field any, shared string, kept bool) stateID {
	if shared != "" {
		return stateID{shared: shared, kept: kept}
	}
	return stateID{field: reflect.ValueOf(field).Pointer(), kept: kept}
}

// stateField is implemented by pointers to TurnState and ConversationState.
type stateField interface {
	valueType() reflect.Type
	id() stateID
	// restore returns a cell with the value.
	restore(id stateID, name string, data message.JSON) (stateCell, error)
}

func (*TurnState[T]) valueType() reflect.Type         { return reflect.TypeFor[T]() }
func (*ConversationState[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }

func (*TurnState[T]) restore(stateID, string, message.JSON) (stateCell, error) {
	return nil, errors.New("the state of a turn is not kept")
}

func (*ConversationState[T]) restore(id stateID, name string, data message.JSON) (stateCell, error) {
	c := &cell[T]{stateID: id, kept: &record[T]{name: name, data: data}}
	return c, json.Unmarshal([]byte(data), &c.value)
}

// StateField is a field of a subsystem's struct that is a [TurnState] or a
// [ConversationState]. Subsystems have no use for it: package composite finds the
// fields, gives them their names and hands them to the runtime.
type StateField struct {
	// Name and Shared are what the field says. Kept: it is a ConversationState.
	Name, Shared string
	Kept         bool
	// Type is that of the value.
	Type reflect.Type
	// Key is the name in the store, which composite fills in; "" for a TurnState.
	Key string

	// at is the field, and keeps what it is in alive; sample is another one of its
	// type, because methods of an unexported field cannot be called from outside.
	at     reflect.Value
	sample stateField
}

// StateFieldOf returns what is known of a struct's field; false if it is neither
// TurnState nor ConversationState. The field has to be addressable, and may be
// unexported.
func StateFieldOf(v reflect.Value) (StateField, bool) {
	if v.Kind() != reflect.Struct || !v.CanAddr() {
		return StateField{}, false
	}
	sample, ok := reflect.New(v.Type()).Interface().(stateField)
	if !ok {
		return StateField{}, false
	}
	f := StateField{Shared: v.FieldByName("Shared").String(), Type: sample.valueType(), Kept: sample.id().kept, at: v.Addr(), sample: sample}
	if f.Kept {
		f.Name = v.FieldByName("Name").String()
	}
	return f, true
}

func (f StateField) id() stateID {
	if f.Shared != "" {
		return stateID{shared: f.Shared, kept: f.Kept}
	}
	return stateID{field: f.at.Pointer(), kept: f.Kept}
}

// StateValue is the state of a conversation as it is kept.
type StateValue struct {
	// Name is the Key of a StateField. Data is one JSON text.
	Name string
	Data message.JSON
}
