package states_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/states"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is a composite made by hand.
type group struct {
	hook.Nop
	names   []string
	members []hook.Hook
	own     hook.ConversationState[int]
}

func (g *group) Compose() *composite.Composite {
	t := composite.Table{Type: "states_test.group"}
	for i, name := range g.names {
		t.Rows = append(t.Rows, composite.Row{Field: name, Type: "hook.Hook", Hook: g.members[i]})
	}
	return composite.Compose(g, t)
}

// of is a composite of names and hooks in turn.
func of(pairs ...any) *group {
	g := &group{}
	g.own.Name = "own"
	for pair := range slices.Chunk(pairs, 2) {
		g.names = append(g.names, pair[0].(string))
		h, _ := pair[1].(hook.Hook)
		g.members = append(g.members, h)
	}
	return g
}

type cost struct {
	hook.Nop
	Total hook.ConversationState[total]
	turn  hook.TurnState[int]
	named hook.ConversationState[[]string]
}

type total struct {
	Cents int
	When  time.Time
	By    map[string]int
}

// keys returns the names of states, those of a turn as "".
func keys(t *testing.T, h hook.Hook) []string {
	t.Helper()
	fields, err := statesOf(t, h)
	require.NoError(t, err)
	out := []string{}
	for _, f := range fields {
		out = append(out, f.Key)
	}
	return out
}

func TestNamesAreThePathsOfTheFields(t *testing.T) {
	t.Parallel()
	c := &cost{}
	c.named.Name, c.turn.Shared = "names", "turn"
	assert.Equal(t, []string{"Total", "", "names"}, keys(t, c), "a hook that is no composite is its own root")
	inner := of("Cost", c)
	assert.Equal(t, []string{"own", "Core.own", "Core.Cost.Total", "", "Core.Cost.names", "Extra[1].Total", "", "Extra[1].named"},
		keys(t, of("Core", inner, "Nobody", nil, "Nil", (*cost)(nil), "Extra[1]", &cost{})))
	assert.Empty(t, keys(t, hook.Nop{}))
	assert.Empty(t, keys(t, nil))
}

func TestAHookThatIsAMemberTwiceHasItsStatesOnce(t *testing.T) {
	t.Parallel()
	c := &cost{}
	assert.Equal(t, []string{"own", "A.Total", "", "A.named", "C.Total", "", "C.named"}, keys(t, of("A", c, "B", c, "C", &cost{})))
}

type limits struct {
	Used hook.ConversationState[int]
	next *limits // is nobody's state, and may go round
}

type base struct {
	hook.Nop
	Seen hook.ConversationState[int]
}

// outside stands around any hook.
type outside struct{ hook.Hook }

func TestStatesAreFoundInStructsOfTheSubsystem(t *testing.T) {
	t.Parallel()
	other := &cost{}
	l := &limits{}
	l.next = l
	s := &struct {
		*base
		hook.Nop
		limits
		Daily  limits
		weekly *limits
		none   *limits
		Other  *cost // a hook of its own
		Others []hook.Hook
	}{base: &base{}, weekly: l, Other: other, Others: []hook.Hook{other}}
	assert.Equal(t, []string{"Seen", "Used", "Daily.Used", "weekly.Used"}, keys(t, s))
	assert.Nil(t, s.none)
	assert.Equal(t, []string{"own", "Around.Total", "", "Around.named"}, keys(t, of("Around", outside{other})), "a hook around another has its states")
}

// kept has a state of a type.
type kept[T any] struct {
	hook.Nop
	State hook.ConversationState[T]
}

type clash struct {
	hook.Nop
	Total hook.ConversationState[int]
	other hook.ConversationState[int]
	turn  hook.TurnState[int]
}

type sliced struct {
	hook.Nop
	States []hook.TurnState[int]
	byName map[string]limits
}

type byValue struct {
	hook.Nop
	limits limits
}

type writesOnly struct{}

func (writesOnly) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type never struct{}

func (never) MarshalText() ([]byte, error)  { return nil, assert.AnError }
func (*never) UnmarshalText(_ []byte) error { return nil }

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	shared := func(conversation, turn string) *clash {
		c := &clash{}
		c.Total.Shared, c.turn.Shared = conversation, turn
		return c
	}
	text := &kept[string]{}
	text.State.Shared = "sum"
	inSlices := &sliced{byName: map[string]limits{"x": {}}}
	twice := &clash{}
	twice.other.Name = "Total"
	pathLike := &clash{}
	pathLike.other.Shared = "A.Total"
	const cannot = "…] cannot be kept: "
	for name, c := range map[string]struct {
		hook hook.Hook
		want string
	}{
		"one shared name, two types": {of("Cost", shared("sum", ""), "Guard", text),
			`Guard.State: the shared state "sum" is a hook.ConversationState[string] here and a hook.ConversationState[int] in Cost.Total: give them one type, or two names`},
		"a turn's and a conversation's": {of("Cost", shared("sum", ""), "Guard", shared("", "sum")),
			`Guard.turn: the shared state "sum" is a hook.TurnState[int] here and a hook.ConversationState[int] in Cost.Total: give them one type, or two names`},
		"one name twice":            {twice, "other: its state has the name Total, which is that of Total too: set the Name of one of them"},
		"a shared name like a path": {of("A", pathLike), "A.other: its state has the name A.Total, which is that of A.Total too: set the Name of one of them"},
		"in slices and maps": {inSlices, "States: states in a value of type []hook.TurnState[int] cannot be found again: make each a field of a struct\n" +
			"byName: states in a value of type map[string]states_test.limits cannot be found again: make each a field of a struct"},
		"by value":            {byValue{limits: limits{}}, "limits.Used: a state in a hook that is held by value, so that each call would see another copy of it: hold a pointer"},
		"an unexported field": {&kept[struct{ a int }]{}, cannot + "the field a of struct { a int } is not exported, so that JSON leaves it out: export it, or say so with the tag `json:\"-\"`"},
		"deep in it":          {&kept[map[string][]*struct{ F func() }]{}, cannot + "JSON has no func()"},
		"an interface":        {&kept[[]any]{}, cannot + "what was in a value of type interface {} is not known any more when it is read"},
		"a channel":           {&kept[chan int]{}, cannot + "JSON has no chan int"},
		"keys":                {&kept[map[bool]int]{}, cannot + "JSON has no keys of type bool"},
		"half a JSON":         {&kept[writesOnly]{}, cannot + "states_test.writesOnly has MarshalJSON without UnmarshalJSON"},
		"an error of its own": {&kept[never]{}, cannot + "json: error calling MarshalText for type states_test.never: assert.AnError general error for testing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := statesOf(t, c.hook)
			require.Error(t, err)
			if end, ok := strings.CutPrefix(c.want, "…"); ok {
				assert.True(t, strings.HasPrefix(err.Error(), "State: a hook.ConversationState[") && strings.HasSuffix(err.Error(), end), "%v", err)
				return
			}
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestWhatCanBeKept(t *testing.T) {
	t.Parallel()
	type tree struct {
		Children []*tree
		skipped  func() `json:"-"`
		hidden   chan int
	}
	type embeds struct{ total }
	for _, h := range []hook.Hook{
		&kept[int]{}, &kept[*string]{}, &kept[map[int]bool]{}, &kept[message.List[message.JSON]]{}, &kept[time.Duration]{}, &kept[time.Time]{},
		&kept[json.RawMessage]{}, &kept[embeds]{}, &kept[struct {
			T *struct{ N int }
			_ int
		}]{},
	} {
		_, err := statesOf(t, h)
		assert.NoError(t, err, "%T", h)
	}
	_, err := statesOf(t, &kept[tree]{})
	require.ErrorContains(t, err, "the field hidden of states_test.tree")
	_, _ = tree{}.skipped, tree{}.hidden
}

// statesOf returns the states of the hook, composed.
func statesOf(t *testing.T, h hook.Hook) ([]hook.StateField, error) {
	t.Helper()
	c, err := composite.From(h)
	require.NoError(t, err)
	return states.Of(c)
}
