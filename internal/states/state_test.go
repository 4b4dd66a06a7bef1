package states_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/states"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is a composite made by hand.
type group struct {
	hook.Nop
	names   []string
	members []hook.Hook
	own     hook.ConversationState[int]
}

// States implements hook.Stateful.
func (g *group) States() map[string]hook.State { return map[string]hook.State{"own": &g.own} }

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
	for pair := range slices.Chunk(pairs, 2) {
		g.names = append(g.names, pair[0].(string))
		h, _ := pair[1].(hook.Hook)
		g.members = append(g.members, h)
	}
	return g
}

type cost struct {
	hook.Nop
	total hook.ConversationState[total]
	names hook.ConversationState[[]string]
}

// States implements hook.Stateful.
func (c *cost) States() map[string]hook.State {
	return map[string]hook.State{"total": &c.total, "names": &c.names}
}

type total struct {
	Cents int
	When  time.Time
	By    map[string]int
}

// keys returns the keys of the states.
func keys(t *testing.T, h hook.Hook) []string {
	t.Helper()
	found, err := statesOf(t, h)
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(found))
}

func TestKeysArePathAndName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"names", "total"}, keys(t, &cost{}), "a hook that is no composite is its own root")
	inner, shared := of("Cost", &cost{}), &cost{}
	shared.total.Shared = "sum"
	assert.Equal(t, []string{"Core.Cost.names", "Core.Cost.total", "Core.own", "Extra[1].names", "own", "sum"},
		keys(t, of("Core", inner, "Nobody", nil, "Nil", (*cost)(nil), "Extra[1]", shared)))
	assert.Empty(t, keys(t, hook.Nop{}))
	assert.Empty(t, keys(t, nil))
}

func TestAHookThatIsAMemberTwiceHasItsStatesOnce(t *testing.T) {
	t.Parallel()
	c := &cost{}
	assert.Equal(t, []string{"A.names", "A.total", "C.names", "C.total", "own"}, keys(t, of("A", c, "B", c, "C", &cost{})))
}

func TestAStructAroundASubsystemHasItsStates(t *testing.T) {
	t.Parallel()
	around := &struct{ *cost }{&cost{}}
	assert.Equal(t, []string{"Mine.names", "Mine.total", "own"}, keys(t, of("Mine", around)))
}

// kept has a state of a type.
type kept[T any] struct {
	hook.Nop
	State hook.ConversationState[T]
}

// States implements hook.Stateful.
func (k *kept[T]) States() map[string]hook.State { return map[string]hook.State{"State": &k.State} }

type writesOnly struct{}

func (writesOnly) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type never struct{}

func (never) MarshalText() ([]byte, error)  { return nil, assert.AnError }
func (*never) UnmarshalText(_ []byte) error { return nil }

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	number, text, pathLike := &kept[int]{}, &kept[string]{}, &kept[int]{}
	number.State.Shared, text.State.Shared, pathLike.State.Shared = "sum", "sum", "A.State"
	const cannot = "…] cannot be stored: "
	for name, c := range map[string]struct {
		hook hook.Hook
		want string
	}{
		"one shared name, two types": {of("Cost", number, "Guard", text),
			`Guard.State: the shared state "sum" is a hook.ConversationState[string] here and a hook.ConversationState[int] in Cost.State: give them the same type, or different names`},
		"a shared name like a path": {of("A", &kept[int]{}, "B", pathLike), "B.State: its state has the key A.State, which is that of A.State too: rename one of them"},
		"an unexported field":       {&kept[struct{ a int }]{}, cannot + "the field a of struct { a int } is not exported, so that JSON leaves it out: export it, or mark it with the tag `json:\"-\"`"},
		"deep in it":                {&kept[map[string][]*struct{ F func() }]{}, cannot + "JSON has no func()"},
		"an interface":              {&kept[[]any]{}, cannot + "JSON does not keep the dynamic type of a value of type interface {}"},
		"a channel":                 {&kept[chan int]{}, cannot + "JSON has no chan int"},
		"keys":                      {&kept[map[bool]int]{}, cannot + "JSON has no keys of type bool"},
		"half a JSON":               {&kept[writesOnly]{}, cannot + "states_test.writesOnly has MarshalJSON without UnmarshalJSON"},
		"an error of its own":       {&kept[never]{}, cannot + "json: error calling MarshalText for type states_test.never: assert.AnError general error for testing"},
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
func statesOf(t *testing.T, h hook.Hook) (map[string]hook.State, error) {
	t.Helper()
	c, err := composite.From(h)
	require.NoError(t, err)
	return states.Of(c)
}
