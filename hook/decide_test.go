package hook_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

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

func drawTool(t *rapid.T) hook.Ruling {
	switch rapid.IntRange(0, 5).Draw(t, "answer") {
	case 1:
		return hook.StopTool(drawReason(t)).Ruling
	case 2:
		return hook.DenyTool(drawReason(t)).Ruling
	case 3:
		return hook.AskTool(drawReason(t)).Ruling
	case 4:
		return hook.AnswerTool(message.TextResult(drawReason(t))).Ruling
	case 5:
		return hook.NarrowTool(drawGrant(t)).Ruling
	}
	return hook.Ruling{}
}

func drawApproval(t *rapid.T) hook.Ruling {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.ApproveCall().Ruling
	case 2:
		return hook.RefuseCall(drawReason(t)).Ruling
	case 3:
		return hook.ModifyCall(message.JSON(fmt.Sprintf(`{"n":%d}`, rapid.Uint32().Draw(t, "n")))).Ruling
	}
	return hook.Ruling{}
}

func drawModel(t *rapid.T) hook.Ruling {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.StopModel(drawReason(t)).Ruling
	case 2:
		return hook.RejectModel(drawReason(t)).Ruling
	case 3:
		return hook.RespondModel(message.ModelReply{Model: drawReason(t)}).Ruling
	}
	return hook.Ruling{}
}

func drawReply(t *rapid.T) hook.Ruling {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.StopReply(drawReason(t)).Ruling
	case 2:
		return hook.RejectReply(drawReason(t)).Ruling
	case 3:
		return hook.RetryReply(drawReason(t)).Ruling
	}
	return hook.Ruling{}
}

func drawOutcome(t *rapid.T) hook.Ruling {
	switch rapid.IntRange(0, 3).Draw(t, "answer") {
	case 1:
		return hook.StopOutcome(drawReason(t)).Ruling
	case 2:
		return hook.WithholdOutcome(drawReason(t)).Ruling
	case 3:
		return hook.ContextOutcome(drawReason(t)).Ruling
	}
	return hook.Ruling{}
}

// laws checks what holds for the rulings of every point.
func laws(t *testing.T, outward bool, closed hook.Answer, draw func(*rapid.T) hook.Ruling) {
	merge := func(a, b hook.Ruling) hook.Ruling { return a.Merge(b, outward) }
	t.Run("zero is the identity", func(t *testing.T) {
		rapid.Check(needs.Seeded(t), func(t *rapid.T) {
			d := draw(t)
			require.Equal(t, d, merge(d, hook.Ruling{}))
			require.Equal(t, d, merge(hook.Ruling{}, d))
		})
	})
	t.Run("associative", func(t *testing.T) {
		rapid.Check(needs.Seeded(t), func(t *rapid.T) {
			a, b, c := draw(t).Under("A"), draw(t).Under("B"), draw(t).Under("C")
			require.Equal(t, merge(merge(a, b), c), merge(a, merge(b, c)))
		})
	})
	t.Run("merging changes neither", func(t *testing.T) {
		rapid.Check(needs.Seeded(t), func(t *rapid.T) {
			a, b := draw(t), draw(t)
			wasA, wasB := a.Under(""), b.Under("")
			_, _ = merge(a, b), merge(b, a)
			require.Equal(t, wasA, a)
			require.Equal(t, wasB, b)
		})
	})
	t.Run("owners", func(t *testing.T) {
		rapid.Check(needs.Seeded(t), func(t *rapid.T) {
			shared := draw(t)
			inner := shared.Under("Guard")
			outer := inner.Under("Core")
			require.Empty(t, shared.Verdict().By, "a shared ruling stays as it is")
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
		f := &hook.Failure{Subsystem: "Guard", Point: point.BeforeTool, Err: errors.New("password is hunter2")}
		d := f.Ruling(closed)
		assert.Equal(t, hook.Verdict{Kind: closed, Reason: "Guard failed at BeforeTool", By: "Guard", Failure: f}, d.Verdict())
		outer := d.Under("Core").Verdict()
		assert.Equal(t, "Core.Guard", outer.By)
		assert.Equal(t, "Core.Guard", outer.Failure.Subsystem, "the failure is under the same path")
		assert.Equal(t, "Guard", f.Subsystem, "the original failure stays as it is")
	})
}

func TestDecisionLaws(t *testing.T) {
	t.Run("tool", func(t *testing.T) { laws(t, false, point.Failed(point.BeforeTool), drawTool) })
	t.Run("approval", func(t *testing.T) { laws(t, false, point.Failed(point.Approve), drawApproval) })
	t.Run("model", func(t *testing.T) { laws(t, false, point.Failed(point.BeforeModel), drawModel) })
	t.Run("reply", func(t *testing.T) { laws(t, true, point.Failed(point.AfterModel), drawReply) })
	t.Run("outcome", func(t *testing.T) { laws(t, true, point.Failed(point.AfterTool), drawOutcome) })
}

func TestNoOpinionIsFree(t *testing.T) {
	var zero, r hook.Ruling
	assert.Equal(t, hook.Verdict{}, zero.Verdict())
	assert.False(t, zero.Blocks())
	noAllocs(t, "no opinion", func() {
		r = r.Merge(zero, false).Under("Core")
		_, _ = r.Blocks(), r.Verdict()
	})
	assert.Equal(t, zero, r)
}

func TestFailuresThatAnswer(t *testing.T) {
	got := map[hook.Answer][]hook.Point{}
	for p, info := range point.All() {
		if info.Kind != "decide" {
			assert.Equal(t, hook.AnswerNone, point.Failed(p), "%s does not decide", p)
			continue
		}
		got[point.Failed(p)] = append(got[point.Failed(p)], p)
	}
	assert.Equal(t, map[hook.Answer][]hook.Point{
		hook.AnswerNone:     {point.OnModelError, point.OnInvalidTool, point.OnStop, point.OnTurnError, point.BeforeCompaction},
		hook.AnswerReject:   {point.OnSessionStart, point.BeforeTurn, point.BeforeModel, point.AfterModel},
		hook.AnswerStop:     {point.BeforeStep, point.AfterStep},
		hook.AnswerDeny:     {point.BeforeTool},
		hook.AnswerRefuse:   {point.Approve},
		hook.AnswerWithhold: {point.AfterTool},
	}, got)
	f := &hook.Failure{Subsystem: "Guard", Point: point.BeforeStep, Err: errors.New("broken")}
	assert.Equal(t, hook.StopError, f.Ruling(hook.AnswerStop).Verdict().Stop)
	assert.Equal(t, hook.Ruling{}, f.Ruling(hook.AnswerNone))
	assert.Equal(t, hook.AnswerNone, point.Failed(255))
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
func winner(t *testing.T, order rank, outward bool, draw func(*rapid.T) hook.Ruling) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(draw), 1, 6).Draw(t, "answers")
		var merged hook.Ruling
		best := -1
		for i, d := range answers {
			d = d.Under(fmt.Sprint("Hook", i))
			merged = merged.Merge(d, outward)
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
		want := answers[best].Under(fmt.Sprint("Hook", best)).Verdict()
		if want.Kind == hook.AnswerAsk { // of all that ask
			var reasons []string
			for _, d := range answers {
				if d.Verdict().Kind == hook.AnswerAsk {
					reasons = append(reasons, d.Verdict().Reason)
				}
			}
			want.Reason = strings.Join(slices.Compact(reasons), "; ")
		}
		require.Equal(t, want, merged.Verdict())
	})
}

func TestSeverity(t *testing.T) {
	t.Run("tool", func(t *testing.T) { winner(t, toolRank, false, drawTool) })
	t.Run("model", func(t *testing.T) { winner(t, modelRank, false, drawModel) })
	t.Run("reply", func(t *testing.T) { winner(t, replyRank, true, drawReply) })
	t.Run("outcome", func(t *testing.T) { winner(t, outcomeRank, true, drawOutcome) })
	t.Run("of two stops the one with more authority", func(t *testing.T) {
		limit, failed := hook.StopStep(hook.StopStepsLimit, "limit").Ruling, (&hook.Failure{}).Ruling(hook.AnswerStop)
		for _, outward := range []bool{false, true} {
			assert.Equal(t, failed.Verdict(), limit.Merge(failed, outward).Verdict())
			assert.Equal(t, failed.Verdict(), failed.Merge(limit, outward).Verdict())
		}
	})
}

func TestNothingLiftsADeny(t *testing.T) {
	blocks := func(d hook.Ruling) bool {
		k := d.Verdict().Kind
		return k == hook.AnswerDeny || k == hook.AnswerStop
	}
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(drawTool), 1, 6).Draw(t, "answers")
		order := rapid.Permutation(answers).Draw(t, "another order")
		var one, other hook.Ruling
		blocked := false
		for i := range answers {
			one, other = one.Merge(answers[i], false), other.Merge(order[i], false)
			blocked = blocked || blocks(answers[i])
			require.Equal(t, blocked, blocks(one), "once blocked, always blocked")
			require.Equal(t, blocked, one.Blocks())
		}
		require.Equal(t, blocks(one), blocks(other), "whether it is blocked does not depend on the order")
	})
}

func TestGrantsIntersectBesideEveryAnswer(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(drawTool), 0, 6).Draw(t, "answers")
		var merged hook.Ruling
		var want hook.Grant
		for _, r := range answers {
			merged = merged.Merge(r, false)
			want = want.Intersect(hook.ToolDecision{Ruling: r}.Grant())
		}
		require.Equal(t, normal(want), normal(hook.ToolDecision{Ruling: merged}.Grant()))
	})
}

func TestContextsAddUp(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(drawOutcome), 0, 6).Draw(t, "answers")
		var merged hook.Ruling
		want := []string{}
		for _, r := range answers {
			merged = merged.Merge(r, true)
			want = append(want, contexts(r)...)
		}
		require.Equal(t, want, append([]string{}, contexts(merged)...))
	})
	said := func(text string) hook.Ruling { return hook.ContextOutcome(text).Ruling }
	shared := said("a").Merge(said("b"), true)
	one, other := shared.Merge(said("c"), true), shared.Merge(said("d"), true)
	assert.Equal(t, []string{"a", "b", "c"}, contexts(one))
	assert.Equal(t, []string{"a", "b", "d"}, contexts(other), "two merges do not share what they added")
}

func contexts(r hook.Ruling) []string { return hook.OutcomeDecision{Ruling: r}.Context().Slice() }

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

	for _, r := range []hook.Ruling{hook.StopTool("x").Ruling, hook.DenyTool("x").Ruling, hook.StopModel("x").Ruling, hook.RejectModel("x").Ruling} {
		assert.True(t, r.Blocks())
	}
	for _, r := range []hook.Ruling{hook.AskTool("x").Ruling, hook.AnswerTool(result).Ruling, hook.NarrowTool(grant).Ruling, hook.RespondModel(reply).Ruling} {
		assert.False(t, r.Blocks(), "a later hook may still deny")
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
	assert.NotContains(t, f.Event().Text, "hunter2")
}
