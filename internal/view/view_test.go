package view_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told keeps what it is told.
type told struct {
	hook.Nop
	turn         *hook.Turn
	outcome      hook.TurnOutcome
	conversation *hook.Conversation
	compacted    hook.Compacted
	session      *hook.Session
}

func (o *told) AfterTurn(_ context.Context, turn *hook.Turn, out hook.TurnOutcome) {
	o.turn, o.outcome = turn, out
}

func (o *told) AfterCompaction(_ context.Context, c *hook.Conversation, done hook.Compacted) {
	o.conversation, o.compacted = c, done
}

func (o *told) OnSessionEnd(_ context.Context, s *hook.Session) { o.session = s }

var (
	began   = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	history = message.ListOf(message.UserText("stored"))
	agent   = &hook.AgentConfig{Name: "a", Instructions: "Help."}
)

func reader() view.Reader {
	return view.Reader{
		Agent:   func(string) *hook.AgentConfig { return agent },
		History: func(string) message.Messages { return message.MessagesOf(history.Slice()...) },
	}
}

func session() *hook.Session {
	c := hook.NewConversation(hook.ConversationData{ID: "c1", Sender: "ann", Agent: agent})
	s, teller := hook.NewSession(hook.SessionData{Conversation: c, ID: "s1", Source: hook.SessionResume, Started: began.Add(-time.Hour)})
	teller.Tell(hook.Totals{Turns: 3, Calls: 2, Usage: message.Usage{Input: 7}, Cost: 5, Duration: time.Minute})
	return s
}

func back(t *testing.T, p hook.Point, j hook.Job) *told {
	t.Helper()
	o := new(told)
	tell, err := reader().Read(p, j.Payload)
	require.NoError(t, err)
	require.True(t, tell(t.Context(), o))
	require.False(t, tell(t.Context(), hook.Nop{}))
	return o
}

// Every point that may be told in the background has a view.
func TestEveryObservingPointHasAView(t *testing.T) {
	var want hook.PointSet
	for p, info := range point.All() {
		if info.Kind == "observe" && !info.Bracket {
			want = want.With(point.Set(p))
		}
	}
	assert.Equal(t, want, view.Points())
	for p := range point.All() {
		_, err := reader().Read(p, "{")
		require.ErrorContains(t, err, "the stored arguments of "+p.String()+" cannot be read")
		if !view.Points().Has(p) {
			assert.ErrorContains(t, err, "there is no view of this point")
		}
	}
}

func TestATurnIsReadBackAsItWas(t *testing.T) {
	s := session()
	turn, teller := hook.NewTurn(hook.TurnData{
		Conversation: s.Conversation(), Session: s, ID: "t1", Number: 4, Started: began, Depth: 1, Input: message.TextInput("hi"),
		Limits: hook.Limits{Steps: 3, Time: time.Minute}, Now: func() time.Time { return began.Add(time.Second) },
	})
	failure := &hook.Failure{Subsystem: "Core.Guard", Point: point.BeforeTool, Err: errors.New("the password is CANARY"), Panic: true}
	signals := message.ListOf(hook.StopSignal{Reason: hook.StopError, By: "Guard", Text: "no", Context: `{"n":1}`})
	standing := hook.Standing{
		History: message.MessagesOf(history.Slice()...), Usage: message.Usage{Input: 1, Output: 2}, Cost: 3, Steps: 2, Signals: signals,
		Errors: message.ListOf(fmt.Errorf("turn: %w", failure), context.Canceled, fmt.Errorf("slow: %w", context.DeadlineExceeded)),
	}
	teller.Tell(standing)
	outcome := hook.TurnOutcome{
		Stop: hook.StopError, Signals: signals, Message: message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("bye"))},
		Usage: message.Usage{Input: 1, Output: 2}, Steps: 2, Calls: 1, Cost: 3, Duration: time.Second, Err: failure,
	}
	j := view.Of(turn, outcome)
	assert.Equal(t, "t1", j.Key)
	assert.NotContains(t, string(j.Payload), "CANARY")
	o := back(t, point.AfterTurn, j)

	got := o.turn
	assert.Equal(t, []any{"t1", 4, 1, began, time.Second}, []any{got.ID(), got.Number(), got.Depth(), got.Started(), got.Elapsed()})
	assert.Equal(t, []any{"c1", "ann", agent}, []any{got.Conversation().ID(), got.Conversation().Sender(), got.Agent()})
	assert.Equal(t, []any{turn.Input(), turn.Limits()}, []any{got.Input(), got.Limits()})
	assert.Equal(t, []any{"s1", hook.SessionResume, s.Started(), s.Totals()},
		[]any{got.Session().ID(), got.Session().Source(), got.Session().Started(), got.Session().Totals()})
	standingGot := got.Standing()
	assert.Equal(t, "Core.Guard failed at BeforeTool", standingGot.Errors.At(0).Error())
	assert.ErrorIs(t, standingGot.Errors.At(1), context.Canceled)
	assert.ErrorIs(t, standingGot.Errors.At(2), context.DeadlineExceeded)
	standing.Errors, standingGot.Errors = message.List[error]{}, message.List[error]{}
	assert.Equal(t, standing, standingGot)
	read, ok := errors.AsType[*hook.Failure](o.outcome.Err)
	require.True(t, ok)
	assert.Equal(t, "Core.Guard failed at BeforeTool", read.Public())
	assert.True(t, read.Panic)
	outcome.Err, o.outcome.Err = nil, nil
	assert.Equal(t, outcome, o.outcome)
}

func TestTheOthersAreReadBackAsTheyWere(t *testing.T) {
	s := session()
	j := view.Of(s, struct{}{})
	assert.Equal(t, "s1", j.Key)
	got := back(t, point.OnSessionEnd, j).session
	assert.Equal(t, []any{"s1", s.Totals(), "c1", agent}, []any{got.ID(), got.Totals(), got.Conversation().ID(), got.Agent()})

	done := hook.Compacted{Removed: 3, Summary: "they talked", Before: 100, After: 10}
	j = view.Of(s.Conversation(), done)
	assert.Empty(t, j.Key, "a compaction has no id")
	o := back(t, point.AfterCompaction, j)
	assert.Equal(t, done, o.compacted)
	assert.Equal(t, "c1", o.conversation.ID())

	turn, _ := hook.NewTurn(hook.TurnData{Conversation: s.Conversation(), ID: "t"})
	o = back(t, point.AfterTurn, view.Of(turn, hook.TurnOutcome{Stop: hook.StopCompleted}))
	assert.Nil(t, o.turn.Session())
	assert.Equal(t, hook.TurnOutcome{Stop: hook.StopCompleted}, o.outcome)
}
