package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook/message"
)

// StateValue is the state of a conversation as it is stored.
type StateValue struct {
	// Name is the key of the state. Data is one JSON text.
	Name string
	Data message.JSON
}

// States are the states of one turn or one conversation. The runtime makes those of a conversation: [ConversationData].States. It is
// safe for concurrent use.
//
// Locks, from outside in: writing, mu, cell.mu.
type States struct {
	// keys are the states that are stored.
	keys map[string]State
	// writing serializes Write.
	writing sync.Mutex
	// mu guards cells and list, and is not held while a value is read or changed. list is the cells as a list, nil after a change.
	mu    sync.Mutex
	cells map[stateID]stateCell
	list  []stateCell
}

// NewStates returns the unset states of one conversation. keys are the states to store; many States may share the map.
func NewStates(keys map[string]State) *States { return &States{keys: keys} }

// statesOf returns the states of a place, and makes them if it has none.
func statesOf(of *atomic.Pointer[States]) *States {
	if s := of.Load(); s != nil {
		return s
	}
	of.CompareAndSwap(nil, &States{})
	return of.Load()
}

// key returns the key in the store of a state; "" for none.
func (s *States) key(id stateID) string {
	for key, state := range s.keys {
		if state.id() == id {
			return key
		}
	}
	return ""
}

// stateCell is a pointer to a cell of some type.
type stateCell interface {
	// change returns the value to store and the number of its update. It returns false if the store has the value already, or if an
	// earlier call failed to encode it.
	change() (value StateValue, at uint64, changed bool, err error)
	// pending reports whether the store lacks the value.
	pending() bool
	// wrote records that the store has the value of this update.
	wrote(data message.JSON, at uint64)
}

// cell is one state of one place.
type cell[T any] struct {
	mu     sync.Mutex
	value  T
	stored stored
}

// stored describes a cell's value in the store.
type stored struct {
	// key is "" if the state has none.
	key string
	// changes counts the updates, known is their number at the last write, refused at the last failure to encode.
	changes, known, refused uint64
	data                    message.JSON
}

func (c *cell[T]) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored.changes != c.stored.known
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
	c.stored.changes++
	return c.value
}

func (c *cell[T]) change() (v StateValue, at uint64, changed bool, err error) {
	c.mu.Lock()
	s := c.stored
	if s.changes == s.known || s.changes == s.refused {
		c.mu.Unlock()
		return v, s.changes, false, nil
	}
	value := c.value
	c.mu.Unlock()
	data, err := encodeState(s.key, &value)
	switch {
	case err != nil:
		c.mu.Lock()
		c.stored.refused = s.changes
		c.mu.Unlock()
		return v, s.changes, false, err
	case data == s.data:
		c.wrote(data, s.changes)
		return v, s.changes, false, nil
	}
	return StateValue{Name: s.key, Data: data}, s.changes, true, nil
}

// encodeState takes a pointer, so that encoding/json calls the MarshalJSON of *T too.
func encodeState[T any](key string, value *T) (message.JSON, error) {
	if key == "" {
		return "", fmt.Errorf("a hook.ConversationState[%v] has no key in the store: return its address from States of its subsystem, see hook.Stateful", reflect.TypeFor[T]())
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("state %s cannot be stored: its value cannot be encoded as JSON: %w", key, err)
	}
	return message.JSON(text), nil
}

func (c *cell[T]) wrote(data message.JSON, at uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored.known, c.stored.data = at, data
}

// Write encodes the states that have changed since the last Write and passes them to store, sorted by name; nil if there are none. It
// calls store once. After an error of store, which it returns as err, the next Write passes them again. unkept reports the states that
// cannot be encoded, once for each update; Write stores the others. Calls of Write wait for each other.
func (s *States) Write(store func([]StateValue) error) (unkept, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	var values []StateValue
	var wrote []func()
	var errs []error
	for _, c := range s.all() {
		value, at, changed, err := c.change()
		if err != nil {
			errs = append(errs, err)
		}
		if changed {
			values = append(values, value)
			wrote = append(wrote, func() { c.wrote(value.Data, at) })
		}
	}
	slices.SortFunc(values, func(a, b StateValue) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	if err := store(values); err != nil {
		return errors.Join(errs...), err
	}
	for _, done := range wrote {
		done()
	}
	return errors.Join(errs...), nil
}

func (s *States) all() []stateCell {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil && len(s.cells) > 0 {
		s.list = slices.AppendSeq(make([]stateCell, 0, len(s.cells)), maps.Values(s.cells))
	}
	return s.list
}

// Load sets the states to the stored values. States whose last change is not written yet stay; all others without a value become zero.
// It ignores values of unknown names, because their subsystem may return. The error lists the values that cannot be read; their states
// are zero.
func (s *States) Load(values []StateValue) error {
	stored := map[string]message.JSON{}
	for _, v := range values {
		stored[v.Name] = v.Data
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
	maps.DeleteFunc(s.cells, func(_ stateID, c stateCell) bool { return !c.pending() })
	if s.cells == nil {
		s.cells = map[stateID]stateCell{}
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		state := s.keys[key]
		data, ok := stored[key]
		if _, stays := s.cells[state.id()]; stays || !ok {
			continue
		}
		c, err := state.read(key, data)
		if err != nil {
			errs = append(errs, fmt.Errorf("state %s starts afresh: its stored value is no %v: %s", key, state.Type(), unreadable(err)))
			continue
		}
		s.cells[state.id()] = c
	}
	return errors.Join(errs...)
}

// Discard sets all states to the zero value of their type. Call it when another process may have changed them, then Load them.
func (s *States) Discard() {
	s.mu.Lock()
	s.cells, s.list = nil, nil
	s.mu.Unlock()
}

// unreadable says why a value could not be read, without quoting it.
func unreadable(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return fmt.Sprintf("%s has to be of type %v", typ.Field, typ.Type)
	}
	return "its JSON has another form"
}
