package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook/message"
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
	// first is the room for the first of them.
	first [1]stateCell
	// writer is nil as long as Write has found no state.
	writer *writer
}

// writer is what States.Write needs. mu is held while it is under way.
type writer struct {
	mu sync.Mutex
	// values are those to store, made by the updates.
	values  []StateValue
	updates []update
}

// update is one update of a state.
type update struct {
	cell stateCell
	at   uint64
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
		if id.kept {
			c.kept = &record[T]{name: s.key(id, reflect.TypeFor[T]())}
		}
		if s.cells == nil {
			s.cells = s.first[:0]
		}
		s.cells = append(s.cells, c)
	}
	return c
}

// key returns the name in the store of a state; "" if it has none.
func (s *States) key(id stateID, t reflect.Type) string {
	for i := range s.fields {
		if f := &s.fields[i]; f.id() == id && f.Type == t {
			return f.Key
		}
	}
	return ""
}

// stateCell is a pointer to a cell of some type.
type stateCell interface {
	// change returns what has to be kept, and the update that made it so; false if
	// there is nothing, or only what was refused before.
	change() (value StateValue, at uint64, changed bool, err error)
	// pending reports whether there is something that the store does not have.
	pending() bool
	called() string
	// stored notes that the store has the value that the update made.
	stored(data message.JSON, at uint64)
}

// cell is one state of one place.
type cell[T any] struct {
	stateID
	// field keeps the field alive, so that its address stays its own; nil where
	// States.fields does.
	field any

	mu    sync.Mutex
	value T
	// kept is nil for the state of a turn.
	kept *record[T]
}

// record is what is known of a state's value in the store.
type record[T any] struct {
	// name is that in the store; "" if there is none.
	name string
	// changes counts the updates. known is their number when the store had the value
	// last, and data that value; refused is it when the value could not be kept.
	changes, known, refused uint64
	data                    message.JSON
	// encoding is the value that States.Write encodes, one at a time. encoding/json is
	// given a pointer to it: so it calls the MarshalJSON of *T too, and copies nothing.
	encoding T
}

func (c *cell[T]) called() string {
	if c.kept == nil {
		return ""
	}
	return c.kept.name
}

func (c *cell[T]) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept != nil && c.kept.changes != c.kept.known
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
	if c.kept != nil {
		c.kept.changes++
	}
	return c.value
}

func (c *cell[T]) change() (v StateValue, at uint64, changed bool, err error) {
	k := c.kept
	if k == nil {
		return v, 0, false, nil
	}
	c.mu.Lock()
	at, have := k.changes, k.data
	if at == k.known || at == k.refused {
		c.mu.Unlock()
		return v, at, false, nil
	}
	k.encoding = c.value
	c.mu.Unlock()
	data, err := k.encode()
	if err != nil {
		c.mu.Lock()
		k.refused = at
		c.mu.Unlock()
		return v, at, false, err
	}
	if data == have {
		c.stored(data, at)
		return v, at, false, nil
	}
	return StateValue{Name: k.name, Data: data}, at, true, nil
}

func (k *record[T]) encode() (message.JSON, error) {
	if k.name == "" {
		return "", fmt.Errorf("a hook.ConversationState[%v] is set that has no name in the store: %s", reflect.TypeFor[T](),
			"it has to be a field of the subsystem's struct, or of a struct in it")
	}
	text, err := json.Marshal(&k.encoding)
	var none T
	k.encoding = none
	if err != nil {
		return "", fmt.Errorf("state %s cannot be kept: its value is no JSON: %w", k.name, err)
	}
	return message.JSON(text), nil
}

func (c *cell[T]) stored(data message.JSON, at uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.known, c.kept.data = at, data
}

// Write encodes the states that have changed since they were stored last and hands
// them to store, once, nil if there are none; the slice is its to read until it
// returns. If store returns nil they are no change any more, unless they were updated
// meanwhile; if not, they are handed over the next time. err is that of store. unkept
// tells of states that cannot be kept, once for each update of theirs: the others are
// written. Calls of Write wait for each other.
func (s *States) Write(store func([]StateValue) error) (unkept, err error) {
	w, cells := s.writes()
	if w == nil {
		return nil, store(nil)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.forget()
	unkept = w.collect(cells)
	values := w.values
	if len(values) == 0 {
		values = nil
	}
	if err := store(values); err != nil {
		return unkept, err
	}
	for i, u := range w.updates {
		u.cell.stored(w.values[i].Data, u.at)
	}
	return unkept, nil
}

// writes returns what Write needs; nil if there are no cells.
func (s *States) writes() (*writer, []stateCell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer == nil && len(s.cells) > 0 {
		s.writer = &writer{}
	}
	return s.writer, s.cells[:len(s.cells):len(s.cells)]
}

// collect encodes what has changed in the cells.
func (w *writer) collect(cells []stateCell) (unkept error) {
	var errs []error
	for _, c := range cells {
		value, at, changed, err := c.change()
		switch {
		case err != nil:
			errs = append(errs, err)
		case changed:
			w.values = append(w.values, value)
			w.updates = append(w.updates, update{c, at})
		}
	}
	return errors.Join(errs...)
}

// forget empties the writer and keeps its memory for the next time.
func (w *writer) forget() {
	clear(w.values)
	clear(w.updates)
	w.values, w.updates = w.values[:0], w.updates[:0]
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
