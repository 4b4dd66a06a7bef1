package turnlog

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
)

// folded returns the turns of marks that are given in the order of their events, and numbered here.
func folded(marks ...mark) (out []Turn) {
	for i := range marks {
		marks[i].at, marks[i].agent = runtime.Position{Epoch: 1, Seq: uint64(i + 1)}, "helper"
		marks[i].time = time.Unix(int64(i+1), 0)
	}
	f := fold{conversation: "c"}
	for _, m := range slices.Backward(marks) {
		if done := f.add(m); done != nil {
			out = append(out, *done)
		}
	}
	if f.turn != nil {
		out = append(out, *f.turn)
	}
	return out
}

func of(turn string, depth int, kind hook.EventKind) mark {
	return mark{turn: turn, depth: depth, kind: kind}
}

func used(m mark, input int64) mark {
	m.usage = message.Usage{Input: input}
	return m
}

func denied(m mark) mark {
	m.denied = true
	return m
}

// TestTurnsWithin: what another agent did within a turn counts for that turn, whether it has ended or not.
func TestTurnsWithin(t *testing.T) {
	t.Parallel()
	start := of("a", 0, event.TurnStart)
	start.text = "go"
	step := of("a", 0, event.StepStart)
	step.step = 1
	child := []mark{
		of("b", 1, event.TurnStart), used(of("b", 1, event.Usage), 7), denied(of("b", 1, event.CallResult)), of("d", 2, event.CallResult), of("b", 1, event.TurnEnd),
	}
	running := folded(slices.Concat([]mark{start, step, used(of("a", 0, event.Usage), 5)}, child)...)
	require.Len(t, running, 1)
	got := running[0]
	assert.Equal(t, wire.RanTurn{
		ID: "a", Agent: "helper", Conversation: "c", Text: "go", Started: time.Unix(1, 0).UTC(), Steps: 1, Calls: 2, Denied: 1, Usage: message.Usage{Input: 12},
		First: "1-1", Last: "1-8",
	}, got.RanTurn)
	assert.ElementsMatch(t, []string{"b", "d"}, got.within)

	ended := folded(slices.Concat([]mark{start, step, used(of("a", 0, event.Usage), 5)}, child, []mark{of("a", 0, event.CallResult), used(of("a", 0, event.TurnEnd), 20)})...)
	require.Len(t, ended, 1)
	assert.Equal(t, 3, ended[0].Calls)
	assert.Equal(t, message.Usage{Input: 20}, ended[0].Usage, "the end of a turn says all of it")
	assert.Equal(t, "1-10", ended[0].Last)
}

// TestTurnsOneAfterAnother: turns do not mix, and what happens between them belongs to none.
func TestTurnsOneAfterAnother(t *testing.T) {
	t.Parallel()
	nothing := mark{}
	got := folded(
		of("a", 0, event.TurnStart), of("b", 1, event.CallResult), of("a", 0, event.TurnEnd), nothing, nothing,
		of("c", 0, event.TurnStart), nothing, of("d", 1, event.CallResult), of("d", 1, event.CallResult), nothing, // its process died
		of("e", 0, event.TurnStart), of("e", 0, event.TurnEnd), nothing,
	)
	require.Len(t, got, 3)
	var all [][]any
	for _, turn := range got {
		all = append(all, []any{turn.ID, turn.Calls, turn.First, turn.Last, turn.Ended.IsZero()})
	}
	assert.Equal(t, [][]any{{"e", 0, "1-11", "1-12", false}, {"c", 2, "1-6", "1-10", true}, {"a", 1, "1-1", "1-3", false}}, all)
}

// TestResumedTurn: a turn that a second process has gone on with is one turn.
func TestResumedTurn(t *testing.T) {
	t.Parallel()
	first := of("a", 0, event.TurnStart)
	first.text = "go"
	got := folded(
		first, of("a", 0, event.CallResult), of("b", 1, event.CallResult),
		of("a", 0, event.TurnStart), of("b", 1, event.CallResult), of("a", 0, event.TurnEnd),
	)
	require.Len(t, got, 1)
	assert.Equal(t, []any{"go", 3, "1-1", "1-6"}, []any{got[0].Text, got[0].Calls, got[0].First, got[0].Last})
}

// TestTurnWithoutItsStart: what is left of a turn whose first events are gone is told.
func TestTurnWithoutItsStart(t *testing.T) {
	t.Parallel()
	got := folded(of("b", 1, event.CallResult), of("a", 0, event.CallResult), of("a", 0, event.TurnEnd))
	require.Len(t, got, 1)
	assert.Equal(t, []any{"", 2, "1-2"}, []any{got[0].Text, got[0].Calls, got[0].First})
}

func TestBegin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc", "ééé": "ééé", "éééé": "ééé"} {
		assert.Equal(t, want, begin(text, 3))
	}
}
