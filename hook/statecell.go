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
	// change returns what has to be kept; false if there is nothing, or only what was
	// refused before.
	change() (change StateChange, changed bool, err error)
	// pending reports whether there is something that the store does not have.
	pending() bool
	called() string
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
	// changes counts the updates. known is their number when the store had the value
	// last, and data that value; refused is it when the value could not be kept.
	changes, known, refused uint64
	data                    JSON
}

func (c *cell[T]) called() string { return c.name }

func (c *cell[T]) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes != c.known
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
	if at == c.refused {
		known = at
	}
	c.mu.Unlock()
	change := StateChange{StateValue: StateValue{Name: c.name}, cell: c, at: at}
	if at == known {
		return change, false, nil
	}
	text, err := c.encode(value)
	if err != nil {
		c.mu.Lock()
		c.refused = at
		c.mu.Unlock()
		return change, false, err
	}
	if change.Data = text; change.Data == data {
		c.stored(change)
		return change, false, nil
	}
	return change, true, nil
}

func (c *cell[T]) encode(value T) (JSON, error) {
	if c.name == "" {
		return "", fmt.Errorf("a hook.ConversationState[%v] is set that has no name in the store: %s", reflect.TypeFor[T](),
			"it has to be a field of the subsystem's struct, or of a struct in it")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("state %s cannot be kept: its value is no JSON: %w", c.name, err)
	}
	return JSON(text), nil
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
// error tells of states that cannot be kept, once for each update of theirs; the
// others are returned beside it. It encodes what has changed.
func (s *States) Changes() ([]StateChange, error) {
	var changes []StateChange
	var errs []error
	for _, c := range s.all() {
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

// Load sets the states to what is kept, but for those that have changed since they
// were stored last, which stay: they are written later. Those that are not among the
// values are the zero value of their type again. Values of other names are left
// alone: the subsystem that had them may come back. The error tells of values that
// cannot be read; their states are zero.
func (s *States) Load(values []StateValue) error {
	was := s.all()
	var cells []stateCell
	var errs []error
	stay := map[string]bool{}
	for _, c := range was {
		if c.pending() {
			cells = append(cells, c)
			stay[c.called()] = true
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		at := slices.IndexFunc(values, func(v StateValue) bool { return v.Name == f.Key })
		if at >= 0 && !stay[f.Key] && !f.sharedWith(s.fields[:i]) {
			c, err := f.sample.restore(f.id(), f.Key, values[at].Data)
			if err != nil {
				errs = append(errs, fmt.Errorf("state %s starts afresh: what is kept of it is no %v: %s", f.Key, f.Type, unreadable(err)))
				continue
			}
			cells = append(cells, c)
		}
	}
	s.mu.Lock()
	s.cells = append(slices.Clone(s.cells[min(len(was), len(s.cells)):]), cells...) // what somebody has set meanwhile comes first
	s.mu.Unlock()
	return errors.Join(errs...)
}

// all returns the cells that there are now.
func (s *States) all() []stateCell {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells[:len(s.cells):len(s.cells)]
}

// Discard makes all states the zero value of their type: they belong to somebody
// else's part of the conversation, and have to be loaded.
func (s *States) Discard() {
	s.mu.Lock()
	s.cells = nil
	s.mu.Unlock()
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
