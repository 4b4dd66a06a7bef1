package human_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
)

// question is a request with one question that has two options.
func question(id string) human.Request {
	return human.Request{Conversation: "conv", Turn: "turn", Inquiry: hook.Inquiry{ID: id, Questions: message.ListOf(
		hook.Question{Text: "Which?", Options: message.ListOf(hook.Choice{Label: "a"}, hook.Choice{Label: "b"})},
	)}}
}

// call is a request for the approval of the call c1.
func call(id string) human.Request {
	return human.Request{Conversation: "conv", Turn: "turn", Inquiry: hook.Inquiry{ID: id, Approval: &hook.ApprovalRequest{
		CallID: "c1", Tool: "danger", Args: `{}`, Offers: message.ListOf(hook.Offer{ID: "call-conversation", Text: "exactly this"}),
	}}}
}

func key(id string) human.Key { return human.Key{Conversation: "conv", ID: id} }

// chooses is ann's answer to one question.
func chooses(labels ...string) human.Answer {
	return human.Answer{By: "ann", Response: hook.Response{Given: message.ListOf(hook.Given{Chosen: message.ListOf(labels...)})}}
}

// replies is ann's answer to a request for approval.
func replies(a hook.ApprovalReply) human.Answer {
	return human.Answer{By: "ann", Response: hook.Response{Approval: &a}}
}

func approves() human.Answer { return replies(hook.ApprovalReply{Answer: hook.AnswerApprove}) }

// result is how an Ask ended.
type result struct {
	answer human.Answer
	err    error
}

// asking asks in the background, and returns when the request waits or has ended.
func asking(ctx context.Context, t *human.Table, r human.Request) <-chan result {
	out := make(chan result, 1)
	go func() {
		a, err := t.Ask(ctx, r, func() {})
		out <- result{a, err}
	}()
	synctest.Wait()
	return out
}

// in runs a test in a bubble of time, with a table of its own.
func in(t *testing.T, name string, run func(t *testing.T, table *human.Table)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { run(t, &human.Table{}) })
	})
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	in(t, "the first answer counts", func(t *testing.T, table *human.Table) {
		got := asking(t.Context(), table, question("q"))
		waiting := table.Pending()
		require.Len(t, waiting, 1)
		assert.Equal(t, question("q").Inquiry, waiting[0].Inquiry)
		assert.NotNil(t, waiting[0].Done())
		require.NoError(t, table.Answer(key("q"), chooses("a"), false))
		<-waiting[0].Done()
		assert.Empty(t, table.Pending())
		require.ErrorIs(t, table.Answer(key("q"), chooses("b"), false), human.ErrAnswered)
		assert.Equal(t, result{chooses("a"), nil}, <-got)
		require.ErrorIs(t, table.Answer(key("q"), chooses("b"), true), human.ErrAnswered, "also when nobody waits any more")
		_, err := table.Ask(t.Context(), question("q"), func() {})
		require.ErrorContains(t, err, "was made before in this turn")

		table.Forget("conv")
		for _, k := range []human.Key{key("q"), {ID: "q"}} {
			err := table.Answer(k, chooses("b"), false)
			require.ErrorIs(t, err, human.ErrAnswered, "also when the turn is over")
			require.ErrorContains(t, err, "ann answered it at 00:00:00 UTC: a")
		}
		require.ErrorIs(t, table.Answer(human.Key{Conversation: "other", ID: "q"}, chooses("b"), false), human.ErrUnknown, "ids are those of a conversation")
		got = asking(t.Context(), table, question("q"))
		require.NoError(t, table.Answer(human.Key{ID: "q"}, chooses("b"), false), "by its id alone")
		assert.Equal(t, result{chooses("b"), nil}, <-got, "the next turn asks anew")
	})
	in(t, "pending are the oldest first, also before they wait", func(t *testing.T, table *human.Table) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 10 {
			asking(ctx, table, question(fmt.Sprint("q", i)))
		}
		listed := 0
		_, err := table.Ask(ctx, question("last"), func() {
			listed = len(table.Pending())
			cancel()
		})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 11, listed)
		for i, r := range table.Pending() {
			assert.Equal(t, fmt.Sprint("q", i), r.ID)
		}
	})
	in(t, "what does not fit is refused", func(t *testing.T, table *human.Table) {
		got := asking(t.Context(), table, question("q"))
		for says, a := range map[string]human.Answer{
			"has 1 questions and the response 0 answers": {},
			`chooses "c", which is no option`:            chooses("c"),
			"chooses 2 options; the question takes one":  chooses("a", "b"),
		} {
			require.ErrorContains(t, table.Answer(key("q"), a, true), says)
		}
		require.ErrorIs(t, table.Answer(key("q"), approves(), true), human.ErrUnknown, "no call waits under this id")
		require.Len(t, table.Pending(), 1)
		require.NoError(t, table.Answer(key("q"), chooses("b"), false))
		assert.Equal(t, result{chooses("b"), nil}, <-got)
	})
	in(t, "invalid", func(t *testing.T, table *human.Table) {
		both := call("both")
		both.Questions = question("").Questions
		for says, r := range map[string]human.Request{
			"has no id":                           question(""),
			"has no question":                     {Inquiry: hook.Inquiry{ID: "x"}},
			"has questions and a call to approve": both,
		} {
			_, err := table.Ask(t.Context(), r, func() { assert.Fail(t, "it is listed") })
			require.ErrorContains(t, err, says)
		}
		assert.Empty(t, table.Pending())
	})
}

// TestWaitingEnds: with the time, the context or the turn, and nothing is left.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]human.Request{"question": question("x"), "call": call("x")} {
		answer := chooses("a")
		if request.Approval != nil {
			answer = approves()
		}
		in(t, name+", in time", func(t *testing.T, table *human.Table) {
			r := request
			r.Timeout, r.Asked = time.Minute, time.Now()
			got, begun := asking(t.Context(), table, r), time.Now()
			waiting := table.Pending()[0]
			assert.Equal(t, begun.Add(time.Minute), r.Expires())
			require.ErrorIs(t, (<-got).err, hook.ErrUnanswered)
			assert.Equal(t, time.Minute, time.Since(begun))
			<-waiting.Done()
			assert.Empty(t, table.Pending())
			require.ErrorIs(t, table.Answer(key("x"), answer, true), human.ErrAnswered)
		})
		in(t, name+", the context", func(t *testing.T, table *human.Table) {
			ctx, cancel := context.WithCancelCause(t.Context())
			got, gone := asking(ctx, table, request), errors.New("gone")
			assert.Zero(t, request.Expires())
			cancel(gone)
			require.ErrorIs(t, (<-got).err, gone)
			assert.Empty(t, table.Pending())
		})
		in(t, name+", the turn", func(t *testing.T, table *human.Table) {
			got := asking(t.Context(), table, request)
			table.Forget("another")
			waiting := table.Pending()
			require.Len(t, waiting, 1)
			table.Forget("conv")
			<-waiting[0].Done()
			assert.Empty(t, table.Pending())
			require.ErrorIs(t, (<-got).err, hook.ErrNoTurn)
		})
		in(t, name+", what was accepted counts", func(t *testing.T, table *human.Table) {
			ctx, cancel := context.WithCancel(t.Context())
			got := asking(ctx, table, request)
			require.NoError(t, table.Answer(key("x"), answer, false))
			cancel()
			require.NoError(t, (<-got).err)
		})
	}
}

func TestEarlyAnswers(t *testing.T) {
	t.Parallel()
	in(t, "one that fits", func(t *testing.T, table *human.Table) {
		require.ErrorIs(t, table.Answer(key("q"), chooses("a"), false), human.ErrUnknown, "no turn runs")
		require.ErrorIs(t, table.Answer(key(""), chooses("a"), true), human.ErrUnknown)
		require.ErrorIs(t, table.Answer(human.Key{ID: "q"}, chooses("a"), true), human.ErrUnknown, "of no conversation")
		require.NoError(t, table.Answer(key("q"), chooses("a"), true))
		require.ErrorIs(t, table.Answer(key("q"), chooses("b"), true), human.ErrAnswered)
		assert.Empty(t, table.Pending(), "nobody has asked")
		assert.Equal(t, result{chooses("a"), nil}, <-asking(t.Context(), table, question("q")))
	})
	in(t, "one that does not fit", func(t *testing.T, table *human.Table) {
		require.NoError(t, table.Answer(key("q"), chooses("c"), true))
		got := asking(t.Context(), table, question("q"))
		require.Len(t, table.Pending(), 1)
		require.NoError(t, table.Answer(key("q"), chooses("b"), true))
		assert.Equal(t, result{chooses("b"), nil}, <-got)
	})
	in(t, "they are bounded, and gone with the turn", func(t *testing.T, table *human.Table) {
		for i := range 16 {
			require.NoError(t, table.Answer(key(fmt.Sprint("q", i)), chooses("a"), true))
		}
		require.ErrorIs(t, table.Answer(key("q16"), chooses("a"), true), human.ErrUnknown)
		require.NoError(t, table.Answer(human.Key{Conversation: "another", ID: "q16"}, chooses("a"), true))
		table.Forget("conv")
		require.NoError(t, table.Answer(key("q16"), chooses("b"), true))
		got := asking(t.Context(), table, question("q0"))
		require.Len(t, table.Pending(), 1, "its early answer was forgotten")
		table.Forget("conv")
		<-got
	})
	in(t, "nobody approves early", func(t *testing.T, table *human.Table) {
		require.ErrorIs(t, table.Answer(key("x"), approves(), true), human.ErrUnknown)
		require.NoError(t, table.Answer(key("x"), chooses("a"), true))
		got := asking(t.Context(), table, call("x"))
		require.Len(t, table.Pending(), 1, "an answer to a question approves nothing")
		require.NoError(t, table.Answer(key("x"), approves(), true))
		require.NoError(t, (<-got).err)
	})
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	in(t, "the answer has the name of who gave it", func(t *testing.T, table *human.Table) {
		got := asking(t.Context(), table, call("x"))
		for says, a := range map[string]human.Answer{
			"it is approve, refuse or modify":                                    replies(hook.ApprovalReply{}),
			"none of the offers of this ask: call-conversation":                  replies(hook.ApprovalReply{Answer: hook.AnswerApprove, Remember: "tool-project"}),
			"by has to be a name of at most 256 bytes":                           {By: "rule", Response: approves().Response},
			"without control characters and dots":                                {By: "Core.Guard", Response: approves().Response},
			"args is no object; modify needs the arguments to run the tool with": replies(hook.ApprovalReply{Answer: hook.AnswerModify}),
			"reason goes with the answer refuse only":                            replies(hook.ApprovalReply{Answer: hook.AnswerApprove, Reason: "x"}),
		} {
			require.ErrorContains(t, table.Answer(key("x"), a, false), says)
		}
		require.ErrorIs(t, table.Answer(key("x"), chooses("a"), false), human.ErrUnknown, "no question waits under this id")
		said := hook.ApprovalReply{Answer: hook.AnswerApprove, Remember: "call-conversation", By: "somebody else"}
		require.NoError(t, table.Answer(human.Key{ID: "x"}, replies(said), false))
		assert.Equal(t, "somebody else", said.By, "the caller's reply is not changed")
		said.By = "ann"
		assert.Equal(t, result{replies(said), nil}, <-got)
	})
	in(t, "it is known for a while why one takes no answer any more", func(t *testing.T, table *human.Table) {
		ctx, cancel := context.WithCancel(t.Context())
		got := asking(ctx, table, call("cancelled"))
		cancel()
		<-got
		late := call("late")
		late.Timeout = time.Second
		<-asking(t.Context(), table, late)
		got = asking(t.Context(), table, call("answered"))
		require.NoError(t, table.Answer(key("answered"), approves(), false))
		<-got
		table.Forget("conv")
		for id, why := range map[string]string{
			"cancelled": "its turn is ending, or an answer that was remembered holds",
			"late":      "its time is over",
			"answered":  "ann approved it at 00:00:00 UTC",
		} {
			for _, k := range []human.Key{key(id), {ID: id}} {
				err := table.Answer(k, approves(), true)
				require.ErrorIs(t, err, human.ErrAnswered)
				require.ErrorContains(t, err, why)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for i := range 1024 {
			_, err := table.Ask(ended, call(fmt.Sprint(i)), func() {})
			require.ErrorIs(t, err, context.Canceled)
		}
		require.ErrorIs(t, table.Answer(key("answered"), approves(), true), human.ErrUnknown, "that was long ago")
		require.ErrorIs(t, table.Answer(key("0"), approves(), true), human.ErrAnswered)
	})
}

// TestExpected: who has seen the event that a call needs approval finds the request.
func TestExpected(t *testing.T) {
	t.Parallel()
	awaiting := func(ctx context.Context, table *human.Table, conversation string) <-chan error {
		out := make(chan error, 1)
		go func() { out <- table.AwaitExpected(ctx, conversation) }()
		synctest.Wait()
		return out
	}
	in(t, "until the call asks", func(t *testing.T, table *human.Table) {
		over := table.Expect("conv", "turn", "c1")
		require.NoError(t, table.AwaitExpected(t.Context(), "another"))
		here, anywhere := awaiting(t.Context(), table, "conv"), awaiting(t.Context(), table, "")
		asked := asking(t.Context(), table, question("q"))
		other := call("other")
		other.Approval.CallID = "c2"
		asking(t.Context(), table, other)
		assert.Empty(t, here, "that was another call")
		got := asking(t.Context(), table, call("x"))
		require.NoError(t, <-here)
		require.NoError(t, <-anywhere)
		require.Len(t, table.Pending(), 3)
		over()
		over()
		table.Forget("conv")
		<-got
		<-asked
	})
	in(t, "or will not", func(t *testing.T, table *human.Table) {
		over, begun := table.Expect("conv", "turn", "c1"), time.Now()
		waiting := awaiting(t.Context(), table, "conv")
		over()
		require.NoError(t, <-waiting)
		assert.Zero(t, time.Since(begun))
		over = table.Expect("conv", "turn", "c1")
		waiting = awaiting(t.Context(), table, "conv")
		table.Forget("conv")
		require.NoError(t, <-waiting, "its turn is over")
		over()
	})
	in(t, "or the caller has gone", func(t *testing.T, table *human.Table) {
		defer table.Expect("conv", "turn", "c1")()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		require.ErrorIs(t, table.AwaitExpected(ctx, "conv"), context.DeadlineExceeded)
		assert.Equal(t, time.Hour, time.Since(begun))
	})
}
