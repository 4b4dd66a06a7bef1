package hook_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// decision is what every decision type has.
type decision[D any] interface {
	Verdict() hook.Verdict
	Final() bool
	From(owner string) D
	Merge(later D) D
	Closed(f *hook.Failure) D
}

var roots = []string{"", "/", "/a", "/a/", "/a/b", "/a/b/../b", "/ab", "/c/d"}

func drawGrant(t *rapid.T) hook.Grant {
	return hook.Grant{
		ReadOnly:  rapid.Bool().Draw(t, "readonly"),
		NoNetwork: rapid.Bool().Draw(t, "nonetwork"),
		Root:      rapid.SampledFrom(roots).Draw(t, "root"),
		Timeout:   time.Duration(rapid.IntRange(0, 3).Draw(t, "timeout")) * time.Second,
		MaxOutput: rapid.IntRange(0, 3).Draw(t, "maxoutput"),
	}
}

// drawReason gives every answer a text of its own, so that the winner is known.
func drawReason(t *rapid.T) string { return fmt.Sprint("because ", rapid.Uint32().Draw(t, "reason")) }

func drawTool(t *rapid.T) hook.ToolDecision {
	switch rapid.IntRange(0, 5).Draw(t, "answer") {
	case 1:
		return hook.StopTool(drawReason(t))
	case 2:
		return hook.DenyTool(drawReason(t))
	case 3:
		return hook.AskTool(drawReason(t))
	case 4:
		return hook.AnswerTool(message.TextResult(drawReason(t)))
	case 5:
		return hook.NarrowTool(drawGrant(t))
	}
	return hook.ToolDecision{}
}

func drawApproval(t *rapid.T) hook.ApprovalDecision {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.ApproveCall()
	case 2:
		return hook.RefuseCall(drawReason(t))
	case 3:
		return hook.ModifyCall(message.JSON(fmt.Sprintf(`{"n":%d}`, rapid.Uint32().Draw(t, "n"))))
	}
	return hook.ApprovalDecision{}
}

func drawModel(t *rapid.T) hook.ModelDecision {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.StopModel(drawReason(t))
	case 2:
		return hook.RejectModel(drawReason(t))
	case 3:
		return hook.RespondModel(message.ModelReply{Model: drawReason(t)})
	}
	return hook.ModelDecision{}
}

func drawReply(t *rapid.T) hook.ReplyDecision {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.StopReply(drawReason(t))
	case 2:
		return hook.RejectReply(drawReason(t))
	case 3:
		return hook.RetryReply(drawReason(t))
	}
	return hook.ReplyDecision{}
}

func drawOutcome(t *rapid.T) hook.OutcomeDecision {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.StopOutcome(drawReason(t))
	case 2:
		return hook.WithholdOutcome(drawReason(t))
	case 3:
		return hook.ContextOutcome(drawReason(t))
	}
	return hook.OutcomeDecision{}
}

// laws checks what holds for every decision type.
func laws[D decision[D]](t *testing.T, closed hook.Answer, draw func(*rapid.T) D) {
	t.Run("zero is silent and free", func(t *testing.T) {
		var zero, d D
		assert.Equal(t, hook.Verdict{}, zero.Verdict())
		assert.False(t, zero.Final())
		noAllocs(t, "the zero decision", func() {
			d = d.Merge(zero).From("Core")
			_ = d.Final()
			_ = d.Verdict()
		})
		assert.Equal(t, zero, d)
	})
	t.Run("zero is the identity", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			var zero D
			d := draw(t)
			require.Equal(t, d, d.Merge(zero))
			require.Equal(t, d, zero.Merge(d))
		})
	})
	t.Run("associative", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			a, b, c := draw(t).From("A"), draw(t).From("B"), draw(t).From("C")
			require.Equal(t, a.Merge(b).Merge(c), a.Merge(b.Merge(c)))
		})
	})
	t.Run("merging changes neither", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			a, b := draw(t), draw(t)
			wasA, wasB := a.From(""), b.From("")
			_, _ = a.Merge(b), b.Merge(a)
			require.Equal(t, wasA, a)
			require.Equal(t, wasB, b)
		})
	})
	t.Run("owners", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			shared := draw(t)
			inner := shared.From("Guard")
			outer := inner.From("Core")
			require.Empty(t, shared.Verdict().By, "a shared decision stays as it is")
			if shared.Verdict().Kind == hook.AnswerNone {
				require.Empty(t, outer.Verdict().By)
				return
			}
			require.Equal(t, "Guard", inner.Verdict().By)
			require.Equal(t, "Core.Guard", outer.Verdict().By)
			want := shared.Verdict()
			want.By = "Core.Guard"
			require.Equal(t, want, outer.Verdict(), "nothing else changes")
		})
	})
	t.Run("closed", func(t *testing.T) {
		var zero D
		f := &hook.Failure{Subsystem: "Guard", Point: point.BeforeTool, Err: errors.New("password is hunter2")}
		d := zero.Closed(f)
		assert.Equal(t, hook.Verdict{Kind: closed, Reason: "Guard failed at BeforeTool", By: "Guard", Failure: f}, d.Verdict())
		outer := d.From("Core").Verdict()
		assert.Equal(t, "Core.Guard", outer.By)
		assert.Equal(t, "Core.Guard", outer.Failure.Subsystem, "the failure is under the same path")
		assert.Equal(t, "Guard", f.Subsystem, "the original failure stays as it is")
	})
}

func TestDecisionLaws(t *testing.T) {
	t.Run("tool", func(t *testing.T) { laws(t, hook.AnswerDeny, drawTool) })
	t.Run("approval", func(t *testing.T) { laws(t, hook.AnswerRefuse, drawApproval) })
	t.Run("model", func(t *testing.T) { laws(t, hook.AnswerReject, drawModel) })
	t.Run("reply", func(t *testing.T) { laws(t, hook.AnswerReject, drawReply) })
	t.Run("outcome", func(t *testing.T) { laws(t, hook.AnswerWithhold, drawOutcome) })
}

// rank orders the answers of one point as its decision's comment says.
type rank map[hook.Answer]int

var (
	toolRank    = rank{hook.AnswerNarrow: 1, hook.AnswerAnswer: 2, hook.AnswerAsk: 3, hook.AnswerDeny: 4, hook.AnswerStop: 5}
	modelRank   = rank{hook.AnswerRespond: 1, hook.AnswerReject: 2, hook.AnswerStop: 3}
	replyRank   = rank{hook.AnswerRetry: 1, hook.AnswerReject: 2, hook.AnswerStop: 3}
	outcomeRank = rank{hook.AnswerContext: 1, hook.AnswerWithhold: 2, hook.AnswerStop: 3}
)

// winner checks which of several answers a merge reports: the most severe, among
// equals the first, or the last if outward.
func winner[D decision[D]](t *testing.T, order rank, outward bool, draw func(*rapid.T) D) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(draw), 1, 6).Draw(t, "answers")
		var merged D
		best := -1
		for i, d := range answers {
			d = d.From(fmt.Sprint("Hook", i))
			merged = merged.Merge(d)
			rank := order[d.Verdict().Kind]
			if rank == 0 {
				continue
			}
			if best < 0 || rank > order[answers[best].Verdict().Kind] || rank == order[answers[best].Verdict().Kind] && outward {
				best = i
			}
		}
		if best < 0 {
			require.Equal(t, hook.Verdict{}, merged.Verdict())
			return
		}
		require.Equal(t, answers[best].From(fmt.Sprint("Hook", best)).Verdict(), merged.Verdict())
	})
}

func TestSeverity(t *testing.T) {
	t.Run("tool", func(t *testing.T) { winner(t, toolRank, false, drawTool) })
	t.Run("model", func(t *testing.T) { winner(t, modelRank, false, drawModel) })
	t.Run("reply", func(t *testing.T) { winner(t, replyRank, true, drawReply) })
	t.Run("outcome", func(t *testing.T) { winner(t, outcomeRank, true, drawOutcome) })
	t.Run("approval takes the first answer", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			a, b := drawApproval(t), drawApproval(t)
			if want := a; want.Verdict().Kind != hook.AnswerNone {
				require.Equal(t, want, a.Merge(b))
				require.True(t, want.Final())
			} else {
				require.Equal(t, b, a.Merge(b))
			}
		})
	})
}

func TestNothingLiftsADeny(t *testing.T) {
	blocks := func(d hook.ToolDecision) bool {
		k := d.Verdict().Kind
		return k == hook.AnswerDeny || k == hook.AnswerStop
	}
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(drawTool), 1, 6).Draw(t, "answers")
		order := rapid.Permutation(answers).Draw(t, "another order")
		var one, other hook.ToolDecision
		blocked := false
		for i := range answers {
			one, other = one.Merge(answers[i]), other.Merge(order[i])
			blocked = blocked || blocks(answers[i])
			require.Equal(t, blocked, blocks(one), "once blocked, always blocked")
			require.Equal(t, blocked, one.Final())
		}
		require.Equal(t, blocks(one), blocks(other), "whether it is blocked does not depend on the order")
	})
}

func TestGrantsIntersectBesideEveryAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(drawTool), 0, 6).Draw(t, "answers")
		var merged hook.ToolDecision
		var want hook.Grant
		for _, d := range answers {
			merged = merged.Merge(d)
			want = want.Intersect(d.Grant())
		}
		require.Equal(t, normal(want), normal(merged.Grant()))
	})
}

func TestContextsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(drawOutcome), 0, 6).Draw(t, "answers")
		var merged hook.OutcomeDecision
		want := []string{}
		for _, d := range answers {
			merged = merged.Merge(d)
			want = append(want, d.Context().Slice()...)
		}
		require.Equal(t, want, append([]string{}, merged.Context().Slice()...))
	})
	shared := hook.ContextOutcome("a").Merge(hook.ContextOutcome("b"))
	one, other := shared.Merge(hook.ContextOutcome("c")), shared.Merge(hook.ContextOutcome("d"))
	assert.Equal(t, []string{"a", "b", "c"}, one.Context().Slice())
	assert.Equal(t, []string{"a", "b", "d"}, other.Context().Slice(), "two merges do not share what they added")
}

func TestPayloads(t *testing.T) {
	result := message.TextResult("cached")
	assert.Equal(t, result, hook.AnswerTool(result).Result())
	grant := hook.Grant{ReadOnly: true}
	assert.Equal(t, grant, hook.NarrowTool(grant).Grant())
	assert.Equal(t, message.JSON(`{"a":1}`), hook.ModifyCall(`{"a":1}`).Args())
	reply := message.ModelReply{Model: "m", Finish: message.FinishStop}
	assert.Equal(t, reply, hook.RespondModel(reply).Reply())
	assert.True(t, reflect.ValueOf(hook.ToolDecision{}.Result()).IsZero(), "no opinion, no payload")
	assert.Zero(t, hook.ToolDecision{}.Grant())
	assert.Zero(t, hook.OutcomeDecision{}.Context().Len())

	for _, judge := range []interface{ Final() bool }{hook.StopReply("x"), hook.RejectReply("x"), hook.StopOutcome("x"), hook.WithholdOutcome("x")} {
		assert.False(t, judge.Final(), "judges are all asked")
	}
	for _, gate := range []interface{ Final() bool }{hook.StopTool("x"), hook.DenyTool("x"), hook.StopModel("x"), hook.RejectModel("x")} {
		assert.True(t, gate.Final())
	}
	for _, gate := range []interface{ Final() bool }{hook.AskTool("x"), hook.AnswerTool(result), hook.NarrowTool(grant), hook.RespondModel(reply)} {
		assert.False(t, gate.Final(), "a later hook may still deny")
	}
}

func TestFailure(t *testing.T) {
	cause := errors.New("password is hunter2")
	f := &hook.Failure{Subsystem: "Guard", Point: point.AfterTool, Err: cause}
	assert.ErrorIs(t, f, cause)
	assert.Equal(t, "Guard: AfterTool: password is hunter2", f.Error())
	assert.Equal(t, "Guard failed at AfterTool", f.Public())
	assert.Equal(t, "a hook failed at AfterTool", (&hook.Failure{Point: point.AfterTool}).Public())
	assert.Equal(t, "Core.Guard", f.Under("Core").Subsystem)
	assert.Equal(t, "Extra[1]", (&hook.Failure{Subsystem: "[1]"}).Under("Extra").Subsystem)
	assert.Equal(t, "Guard", f.Under("").Subsystem)
	assert.NotContains(t, hook.FailureEvent(f).Text, "hunter2")
}
