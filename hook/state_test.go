package hook_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

// counter is a subsystem with states.
type counter struct {
	hook.Nop
	calls hook.TurnState[int]
	total hook.ConversationState[int]
	price hook.ConversationState[price]
}

type price struct {
	Name  string
	Cents int
}

func newTurn(c *hook.Conversation) *hook.Turn {
	t, _ := hook.NewTurn(hook.TurnData{Conversation: c})
	return t
}

func newConversation() *hook.Conversation { return hook.NewConversation(hook.ConversationData{}) }

func add(n int) func(int) int { return func(was int) int { return was + n } }

func TestStateStartsAsZeroAndIsKeptForItsPlace(t *testing.T) {
	t.Parallel()
	var s counter
	conv := newConversation()
	one, two := newTurn(conv), newTurn(conv)
	assert.Zero(t, s.calls.Get(one))
	assert.Equal(t, 3, s.calls.Update(one, add(3)))
	assert.Equal(t, 5, s.calls.Update(one, add(2)))
	assert.Equal(t, 5, s.calls.Get(one))
	assert.Zero(t, s.calls.Get(two), "another turn")

	s.total.Update(conv, add(7))
	assert.Equal(t, 7, s.total.Get(two.Conversation()))
	assert.Zero(t, s.total.Get(newConversation()), "another conversation")
	s.price.Update(conv, func(p price) price { p.Name = "tea"; return p })
	assert.Equal(t, price{Name: "tea"}, s.price.Get(conv))
}

func TestTwoValuesOfOneSubsystemShareNoState(t *testing.T) {
	t.Parallel()
	a, b := new(counter), new(counter)
	turn := newTurn(newConversation())
	a.calls.Update(turn, add(1))
	a.total.Update(turn.Conversation(), add(1))
	assert.Zero(t, b.calls.Get(turn))
	assert.Zero(t, b.total.Get(turn.Conversation()))
}

func TestSharedStatesAreOne(t *testing.T) {
	t.Parallel()
	var cost struct {
		Total hook.ConversationState[int]
		Now   hook.TurnState[int]
	}
	var guard struct {
		limit   hook.TurnState[string]
		total   hook.ConversationState[int]
		current hook.TurnState[int]
	}
	cost.Total.Shared, guard.total.Shared = "cost.total", "cost.total"
	cost.Now.Shared, guard.current.Shared = "cost.total", "cost.total"
	turn := newTurn(newConversation())
	cost.Total.Update(turn.Conversation(), add(4))
	assert.Equal(t, 4, guard.total.Get(turn.Conversation()))
	assert.Zero(t, guard.current.Get(turn), "that of a turn is another")
	guard.current.Update(turn, add(2))
	assert.Equal(t, 2, cost.Now.Get(turn))
	guard.limit.Update(turn, func(string) string { return "none" })
	assert.Equal(t, 2, cost.Now.Get(turn))
}

func TestUpdateIsAtomic(t *testing.T) {
	t.Parallel()
	var s counter
	turn := newTurn(newConversation())
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 200 {
				s.calls.Update(turn, add(1))
				s.total.Update(turn.Conversation(), add(1))
				s.price.Update(turn.Conversation(), func(p price) price { p.Cents++; return p })
				_ = s.calls.Get(turn)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 64*200, s.calls.Get(turn))
	assert.Equal(t, 64*200, s.total.Get(turn.Conversation()))
	assert.Equal(t, 64*200, s.price.Get(turn.Conversation()).Cents)
}

func TestAnUpdateThatPanicsChangesNothing(t *testing.T) {
	t.Parallel()
	var s counter
	turn := newTurn(newConversation())
	s.calls.Update(turn, add(1))
	assert.PanicsWithValue(t, "no", func() { s.calls.Update(turn, func(int) int { panic("no") }) })
	assert.Equal(t, 2, s.calls.Update(turn, add(1)), "nor does it keep the state locked")
}

func TestAnotherInputLeavesTheStates(t *testing.T) {
	t.Parallel()
	var s counter
	parent := newTurn(newConversation())
	first, teller := hook.NewTurn(hook.TurnData{Conversation: newConversation(), ID: "t1", Parent: parent})
	s.calls.Update(first, add(1))
	in := message.Input{Messages: message.ListOf(message.UserText("changed"))}
	again, teller := teller.WithInput(in)
	assert.Equal(t, in, again.Input())
	assert.Equal(t, "t1", again.ID())
	assert.Equal(t, 1, s.calls.Get(again))
	s.calls.Update(again, add(1))
	assert.Equal(t, 2, s.calls.Get(first))
	teller.Tell(hook.Standing{Steps: 3})
	assert.Equal(t, 3, again.Standing().Steps)
	assert.Same(t, parent, again.Parent())
}

func TestChildrenReachTheirRoot(t *testing.T) {
	t.Parallel()
	root := newTurn(newConversation())
	child, _ := hook.NewTurn(hook.TurnData{Conversation: newConversation(), Parent: root, Depth: 1})
	grandchild, _ := hook.NewTurn(hook.TurnData{Conversation: newConversation(), Parent: child, Depth: 2})
	assert.Nil(t, root.Parent())
	assert.Same(t, root, root.Root())
	assert.Same(t, child, grandchild.Parent())
	assert.Same(t, root, grandchild.Root())
	var s counter
	s.total.Update(grandchild.Root().Conversation(), add(5))
	assert.Equal(t, 5, s.total.Get(root.Conversation()))
	assert.Zero(t, s.total.Get(grandchild.Conversation()))
}

// States implements hook.Stateful.
func (s *counter) States() map[string]hook.State {
	return map[string]hook.State{s.total.Key("total"): &s.total, "price": &s.price}
}

func TestAKeyIsThePathOrTheSharedName(t *testing.T) {
	t.Parallel()
	var s counter
	assert.Equal(t, "Core.Cost.price", s.price.Key("Core.Cost.price"))
	assert.Equal(t, reflect.TypeFor[price](), s.price.Type())
	s.price.Shared = "all.price"
	assert.Equal(t, "all.price", s.price.Key("Core.Cost.price"))
}

func TestAnotherTypeUnderOneSharedNamePanics(t *testing.T) {
	t.Parallel()
	var number hook.TurnState[int]
	var text hook.TurnState[string]
	number.Shared, text.Shared = "limit", "limit"
	turn := newTurn(newConversation())
	number.Update(turn, add(1))
	const want = `hook: state "limit": it is used as a string and as another type: give its fields the same type, or different names`
	assert.PanicsWithValue(t, want, func() { text.Get(turn) })
	assert.PanicsWithValue(t, want, func() { text.Update(turn, func(s string) string { return s }) })
	assert.Equal(t, 1, number.Get(turn))
}

// written returns what Write hands over, and what it says of what it cannot.
func written(t *testing.T, s *hook.States) (values []hook.StateValue, unkept error) {
	t.Helper()
	calls := 0
	unkept, err := s.Write(func(vs []hook.StateValue) error {
		values = slices.Clone(vs)
		calls++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, calls)
	return values, unkept
}

func TestWriteHandsOverWhatTheStoreDoesNotHave(t *testing.T) {
	t.Parallel()
	var s counter
	states := hook.NewStates(s.States())
	conv := hook.NewConversation(hook.ConversationData{States: states})
	values, err := written(t, states)
	require.NoError(t, err)
	assert.Nil(t, values)

	s.total.Update(conv, add(2))
	s.price.Update(conv, func(price) price { return price{"tea", 3} })
	s.calls.Update(newTurn(conv), add(1))
	want := []hook.StateValue{{Name: "price", Data: `{"Name":"tea","Cents":3}`}, {Name: "total", Data: "2"}}
	unkept, err := states.Write(func(got []hook.StateValue) error {
		assert.Equal(t, want, got)
		return assert.AnError
	})
	assert.Equal(t, assert.AnError, err)
	require.NoError(t, unkept)
	assert.Panics(t, func() { _, _ = states.Write(func([]hook.StateValue) error { panic("no") }) })
	_, err = states.Write(func(got []hook.StateValue) error {
		assert.Equal(t, want, got, "what was refused is handed over again")
		s.total.Update(conv, add(1))
		return nil
	})
	require.NoError(t, err)
	values, err = written(t, states)
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{{Name: "total", Data: "3"}}, values, "updated while it was being stored")
	s.total.Update(conv, add(0))
	values, err = written(t, states)
	require.NoError(t, err)
	assert.Nil(t, values, "an update that changes nothing")
}

// secret has a JSON of its own, and only where it has an address.
type secret struct{ n int }

func (s *secret) MarshalJSON() ([]byte, error)    { return json.Marshal(s.n) }
func (s *secret) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &s.n) }

func TestAStateWithAJSONOfItsOwn(t *testing.T) {
	t.Parallel()
	var s struct {
		hook.Nop
		State hook.ConversationState[secret]
	}
	states := hook.NewStates(map[string]hook.State{"State": &s.State})
	conv := hook.NewConversation(hook.ConversationData{States: states})
	s.State.Update(conv, func(secret) secret { return secret{7} })
	values, err := written(t, states)
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{{Name: "State", Data: "7"}}, values)
	states.Discard()
	require.NoError(t, states.Load(values))
	assert.Equal(t, secret{7}, s.State.Get(conv))
}

func TestWritesWaitForEachOther(t *testing.T) {
	t.Parallel()
	var s counter
	states := hook.NewStates(s.States())
	conv := hook.NewConversation(hook.ConversationData{States: states})
	var wg sync.WaitGroup
	var last message.JSON
	for range 16 {
		wg.Go(func() {
			for range 50 {
				s.total.Update(conv, add(1))
				_, err := states.Write(func(vs []hook.StateValue) error {
					if len(vs) > 0 {
						last = vs[0].Data
					}
					return nil
				})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, message.JSON("800"), last)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	var s counter
	states := hook.NewStates(s.States())
	conv := hook.NewConversation(hook.ConversationData{States: states})
	require.NoError(t, states.Load([]hook.StateValue{{Name: "total", Data: "1"}}))
	require.NoError(t, states.Load([]hook.StateValue{{Name: "gone", Data: "1"}, {Name: "price", Data: `{"Cents":9}`}}))
	assert.Zero(t, s.total.Get(conv), "the store has none any more")
	assert.Equal(t, price{Cents: 9}, s.price.Get(conv))
	values, err := written(t, states)
	require.NoError(t, err)
	assert.Nil(t, values)
	s.price.Update(conv, func(p price) price { p.Name = "x"; return p })
	_, err = states.Write(func(values []hook.StateValue) error {
		assert.Equal(t, []hook.StateValue{{Name: "price", Data: `{"Name":"x","Cents":9}`}}, values)
		return assert.AnError
	})
	require.Equal(t, assert.AnError, err)

	require.NoError(t, states.Load([]hook.StateValue{{Name: "price", Data: `{"Cents":1}`}, {Name: "total", Data: "8"}}))
	assert.Equal(t, price{"x", 9}, s.price.Get(conv), "what is still to be written stays")
	assert.Equal(t, 8, s.total.Get(conv))
	states.Discard()
	assert.Zero(t, s.price.Get(conv))

	err = states.Load([]hook.StateValue{{Name: "price", Data: `{"Cents":"secret"}`}, {Name: "total", Data: `{"secret":1}`}})
	require.EqualError(t, err, "state price starts afresh: its stored value is no hook_test.price: Cents has to be of type int\n"+
		"state total starts afresh: its stored value is no int: its JSON has another form")
	assert.Zero(t, s.price.Get(conv))
}

func TestASharedStateIsLoadedOnce(t *testing.T) {
	t.Parallel()
	var a, b counter
	a.total.Shared, b.total.Shared = "sum", "sum"
	states := hook.NewStates(map[string]hook.State{"sum": &a.total})
	conv := hook.NewConversation(hook.ConversationData{States: states})
	require.NoError(t, states.Load([]hook.StateValue{{Name: "sum", Data: "4"}}))
	b.total.Update(conv, add(1))
	assert.Equal(t, 5, a.total.Get(conv))
	values, err := written(t, states)
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{{Name: "sum", Data: "5"}}, values)
}

func TestAStateThatCannotBeKeptIsAnError(t *testing.T) {
	t.Parallel()
	var s struct {
		hook.Nop
		Float hook.ConversationState[float64]
		Total hook.ConversationState[int]
	}
	var undeclared hook.ConversationState[bool]
	states := hook.NewStates(map[string]hook.State{"Float": &s.Float, "Total": &s.Total})
	conv := hook.NewConversation(hook.ConversationData{States: states})
	zero := 0.0
	s.Float.Update(conv, func(float64) float64 { return 1 / zero })
	s.Total.Update(conv, add(1))
	undeclared.Update(conv, func(bool) bool { return true })
	values, err := written(t, states)
	require.EqualError(t, err, "a hook.ConversationState[bool] has no key in the store: return its address from States of its subsystem, see hook.Stateful\n"+
		"state Float cannot be stored: its value cannot be encoded as JSON: json: unsupported value: +Inf")
	assert.Equal(t, []hook.StateValue{{Name: "Total", Data: "1"}}, values, "the others can")
	values, err = written(t, states)
	require.NoError(t, err, "it was told once")
	assert.Nil(t, values)
	s.Float.Update(conv, func(float64) float64 { return 2 })
	values, err = written(t, states)
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{{Name: "Float", Data: "2"}}, values)
}

func TestStateAllocatesLittle(t *testing.T) {
	var s counter
	turn := newTurn(newConversation())
	for _, set := range []bool{false, true} {
		if set {
			s.calls.Update(turn, add(1))
			s.total.Update(turn.Conversation(), add(1))
		}
		n := allocs.PerRun(100, func() {
			_ = s.calls.Get(turn)
			_ = s.total.Get(turn.Conversation())
		})
		assert.Zero(t, n, "set: %t", set)
	}
	one := add(1)
	assert.Zero(t, allocs.PerRun(100, func() { s.calls.Update(turn, one) }), "an update of what is there")

	states := hook.NewStates(s.States())
	conv := hook.NewConversation(hook.ConversationData{States: states})
	store := func([]hook.StateValue) error { return nil }
	n := allocs.PerRun(100, func() {
		s.total.Update(conv, one)
		if _, err := states.Write(store); err != nil {
			panic(err)
		}
	})
	assert.LessOrEqual(t, n, 10.0, "a number that has changed is encoded, and kept as a text")
}

func BenchmarkTurnState(b *testing.B) {
	var s counter
	turn, empty := newTurn(newConversation()), newTurn(newConversation())
	s.calls.Update(turn, add(1))
	one := add(1)
	b.Run("get of nothing", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.calls.Get(empty)
		}
	})
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.calls.Get(turn)
		}
	})
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.calls.Update(turn, one)
		}
	})
}
