package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// States are the states that one turn or one conversation has. Those of a
// conversation are made by the runtime, which alone can keep them:
// [ConversationData].States. It is safe for concurrent use.
type States struct {
	fields []StateField

	// mu guards cells, of which there are few, and is not held while one is read or
	// changed.
	mu    sync.Mutex
	cells []stateCell
}

// NewStates returns the states of one conversation, of which none is set. The fields
// are all that are kept, with their keys; they may be shared by many States.
func NewStates(fields []StateField) *States { return &States{fields: fields} }

// statesOf returns the states of a place, which it makes if it has none.
func statesOf(of *atomic.Pointer[States]) *States {
	if s := of.Load(); s != nil {
		return s
	}
	of.CompareAndSwap(nil, &States{})
	return of.Load()
}

// getState returns the value of a state; the zero T if it is not set.
func getState[T any](s *States, id stateID) (value T) {
	if s == nil {
		return value
	}
	s.mu.Lock()
	c := findLocked[T](s, id)
	s.mu.Unlock()
	if c == nil {
		return value
	}
	return c.get()
}

func findLocked[T any](s *States, id stateID) *cell[T] {
	for _, c := range s.cells {
		if c, ok := c.(*cell[T]); ok && c.stateID == id {
			return c
		}
	}
	return nil
}

// cellOf returns the cell of a state, which it makes if it is not set.
func cellOf[T any](s *States, id stateID, field any) *cell[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := findLocked[T](s, id)
	if c == nil {
		c = &cell[T]{stateID: id, field: field}
		for i := range s.fields {
			if f := &s.fields[i]; f.id() == id && f.Type == reflect.TypeFor[T]() {
				c.name = f.Key
			}
		}
		s.cells = append(s.cells, c)
	}
	return c
}

// stateCell is a pointer to a cell of some type.
type stateCell interface {
	// change returns what has to be kept; false if that is known to the store.
	change() (change StateChange, changed bool, err error)
	// stored notes that the change is kept.
	stored(StateChange)
}

// cell is one state of one place.
type cell[T any] struct {
	stateID
	// field keeps the field alive, so that its address stays its own; nil where
	// States.fields does.
	field any
	// name is that in the store; "" if there is none.
	name string

	mu    sync.Mutex
	value T
	// changes counts the updates; known is their number when the store had the value
	// last, and data that value.
	changes, known uint64
	data           JSON
}

func (c *cell[T]) get() T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value
}

func (c *cell[T]) update(f func(T) T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value = f(c.value)
	c.changes++
	return c.value
}

func (c *cell[T]) change() (StateChange, bool, error) {
	c.mu.Lock()
	value, at, known, data := c.value, c.changes, c.known, c.data
	c.mu.Unlock()
	change := StateChange{StateValue: StateValue{Name: c.name}, cell: c, at: at}
	if at == known {
		return change, false, nil
	}
	if c.name == "" {
		return change, false, fmt.Errorf("a hook.ConversationState[%v] is set that has no name in the store: %s", reflect.TypeFor[T](),
			"it has to be a field of the subsystem's struct, or of a struct in it")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return change, false, fmt.Errorf("state %s cannot be kept: its value is no JSON: %w", c.name, err)
	}
	if change.Data = JSON(text); change.Data == data {
		c.stored(change)
		return change, false, nil
	}
	return change, true, nil
}

func (c *cell[T]) stored(change StateChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.data = change.at, change.Data
}

// StateChange is a state whose value has to be kept.
type StateChange struct {
	StateValue
	cell stateCell
	at   uint64
}

// Stored notes that the store has the value: it is no change any more, unless the
// state was updated meanwhile.
func (c StateChange) Stored() { c.cell.stored(c) }

// Changes returns what has changed since it was stored last, nil if nothing has. The
// error tells of states that cannot be kept, each time until they can; the others
// are returned beside it. It encodes what has changed.
func (s *States) Changes() ([]StateChange, error) {
	s.mu.Lock()
	cells := s.cells[:len(s.cells):len(s.cells)]
	s.mu.Unlock()
	var changes []StateChange
	var errs []error
	for _, c := range cells {
		change, changed, err := c.change()
		switch {
		case err != nil:
			errs = append(errs, err)
		case changed:
			changes = append(changes, change)
		}
	}
	return changes, errors.Join(errs...)
}

// Load sets the states to what is kept; those that are not among the values are the
// zero value of their type again. Values of other names are left alone: the
// subsystem that had them may come back. The error tells of values that cannot be
// read; their states are zero.
func (s *States) Load(values []StateValue) error {
	var cells []stateCell
	var errs []error
	for i := range s.fields {
		f := &s.fields[i]
		at := slices.IndexFunc(values, func(v StateValue) bool { return v.Name == f.Key })
		if at >= 0 && !f.sharedWith(s.fields[:i]) {
			c, err := f.sample.restore(f.id(), f.Key, values[at].Data)
			if err != nil {
				errs = append(errs, fmt.Errorf("state %s starts afresh: what is kept of it is no %v: %s", f.Key, f.Type, unreadable(err)))
				continue
			}
			cells = append(cells, c)
		}
	}
	s.mu.Lock()
	s.cells = cells
	s.mu.Unlock()
	return errors.Join(errs...)
}

// sharedWith reports whether one of the fields leads to the same state.
func (f *StateField) sharedWith(fields []StateField) bool {
	return slices.ContainsFunc(fields, func(o StateField) bool { return o.id() == f.id() })
}

// unreadable says why a value could not be read, without quoting it.
func unreadable(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return fmt.Sprintf("%s has to be of type %v", typ.Field, typ.Type)
	}
	return "its JSON has another form"
}
