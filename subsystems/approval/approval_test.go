package approval_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(t *testing.T) hook.Hook {
		return approval.New(&approval.Options{Store: approval.Dir(t.TempDir()), Project: t.TempDir()})
	}, &hooktest.Options{Golden: "testdata/descriptor.txt", Update: *update})
}

// TestWhatIsShownIsWhatWasCalled: the request has the very bytes of the call.
func TestWhatIsShownIsWhatWasCalled(t *testing.T) {
	t.Parallel()
	p := says(yes)
	a := approval.New(&approval.Options{Timeout: time.Minute})
	args := message.JSON(`{"command":"ls <\u202e>"}`)
	for range 2 {
		verdict(t, a, newPlace(p, "helper", "conv").call(bash, args))
	}
	require.Len(t, p.asked, 2)
	assert.NotEmpty(t, p.ids[0])
	assert.NotEqual(t, p.ids[0], p.ids[1], "an answer to the first one is none to the second")
	r := p.asked[0]
	assert.Equal(t, []hook.Offer{{ID: "call-conversation", Text: "exactly this call of bash, in this conversation and the tasks that it hands out"}}, r.Offers.Slice())
	assert.Equal(t, []string{`command: 1 character that turns the direction of text, such as \u{202e}`}, r.Remarks.Slice())
	r.Remarks = message.List[string]{}
	r.Offers = message.List[hook.Offer]{}
	assert.Equal(t, hook.ApprovalRequest{CallID: "c1", Tool: "bash", Args: args, Reason: "it may change things"}, r)
}

// TestAnswers: every answer, remembered and not, with and without a time for it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	approved := hook.Verdict{Kind: hook.AnswerApprove, By: "ann"}
	answers := []struct {
		name  string
		reply hook.ApprovalReply
		want  hook.Verdict
	}{
		{"approve", yes, approved},
		{"refuse", no, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "The user said no.", By: "ann"}},
		{"refuse with a reason", hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "not on a Friday"}, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "not on a Friday"}},
		{"modify", hook.ApprovalReply{Answer: hook.AnswerModify, Args: `{"command":"ls -l"}`, By: "ann"}, hook.Verdict{Kind: hook.AnswerModify, By: "ann"}},
		{"nobody answers", hook.ApprovalReply{}, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "Nobody answered within 1m0s.", By: "timeout"}},
	}
	for _, tt := range answers {
		for _, remember := range []string{"", "call-conversation", "call-agent", "call-project"} {
			for _, timeout := range []time.Duration{-1, time.Minute} {
				t.Run(fmt.Sprint(tt.name, ",", remember, ",", timeout), func(t *testing.T) {
					t.Parallel()
					dir, project := t.TempDir(), t.TempDir()
					synctest.Test(t, func(t *testing.T) {
						p := silent()
						switch {
						case tt.reply.Answer != "":
							p = says(remembering(tt.reply, remember))
						case timeout < 0:
							return // it would wait for ever
						}
						a, where := approval.New(&approval.Options{Timeout: timeout, Store: approval.Dir(dir), Project: project}), newPlace(p, "helper", "conv")
						call := where.call(bash, `{"command":"ls"}`)
						if tt.reply.Answer == hook.AnswerModify && remember != "" {
							_, err := a.Approve(t.Context(), call, because)
							require.ErrorContains(t, err, "a modification is for its one call")
							return
						}
						require.Equal(t, tt.want, verdict(t, a, call))

						// The same again, another call, and another conversation.
						again, asked := tt.want, 2
						if remember != "" && tt.reply.Answer != "" {
							again.By, asked = "rule", 1
						}
						require.Equal(t, again, verdict(t, a, call))
						assert.Equal(t, asked, p.count())
						assert.Equal(t, tt.want, verdict(t, a, where.call(bash, `{"command":"ls "}`)))
						assert.Equal(t, asked+1, p.count())
						elsewhere := tt.want
						if again.By == "rule" && remember != "call-conversation" {
							elsewhere.By = "rule"
						}
						assert.Equal(t, elsewhere, verdict(t, a, newPlace(p, "helper", "other").call(bash, `{"command":"ls"}`)))
						if tt.reply.Answer == hook.AnswerModify {
							d, err := a.Approve(t.Context(), call, because)
							require.NoError(t, err)
							assert.Equal(t, message.JSON(`{"command":"ls -l"}`), d.Args())
						}
					})
				})
			}
		}
	}
}

// TestTimeout: what becomes of what nobody answers, and how it is told.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		o     approval.Options
		after time.Duration
		want  hook.Verdict
		text  string
	}{
		"by default it is refused": {
			approval.Options{}, approval.DefaultTimeout,
			hook.Verdict{Kind: hook.AnswerRefuse, Reason: "Nobody answered within 15m0s.", By: "timeout"}, "nobody answered within 15m0s: the call is refused",
		},
		"refused": {
			approval.Options{Timeout: time.Second}, time.Second,
			hook.Verdict{Kind: hook.AnswerRefuse, Reason: "Nobody answered within 1s.", By: "timeout"}, "nobody answered within 1s: the call is refused",
		},
		"approved, which has to be asked for": {
			approval.Options{Timeout: time.Second, OnTimeout: approval.ApproveOnTimeout}, time.Second,
			hook.Verdict{Kind: hook.AnswerApprove, By: "timeout"}, "nobody answered within 1s: the call is approved, as is done here with what nobody answers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := silent()
				a, where, begun := approval.New(&tt.o), newPlace(p, "helper", "conv"), time.Now()
				assert.Equal(t, tt.want, verdict(t, a, where.call(bash, `{"command":"ls"}`)))
				assert.Equal(t, tt.after, time.Since(begun))
				assert.Equal(t, tt.o.OnTimeout == approval.ApproveOnTimeout, p.asked[0].ApprovedOnTimeout)
				events := where.host.Events()
				require.Len(t, events, 1)
				assert.Equal(t, event.ApprovalTimedOut, events[0].Kind)
				assert.Equal(t, tt.text, events[0].Text)
				assert.Equal(t, hook.EventDetail{CallID: "c1", Tool: "bash", Args: `{"command":"ls"}`, Answer: tt.want.Kind}, events[0].Detail())
			})
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := &people{answer: func(context.Context, hook.ApprovalRequest) (hook.ApprovalReply, error) {
				time.Sleep(1000 * time.Hour)
				return yes, nil
			}}
			a := approval.New(&approval.Options{Timeout: -1, OnTimeout: approval.ApproveOnTimeout})
			assert.Equal(t, hook.AnswerApprove, verdict(t, a, newPlace(p, "helper", "conv").call(bash, `{}`)).Kind)
			assert.False(t, p.asked[0].ApprovedOnTimeout)
		})
	})
}

// TestFailsClosed: whatever goes wrong, the call does not run; what is a failure is
// one, and its cause is not for the model.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		answer func(ctx context.Context, r hook.ApprovalRequest) (hook.ApprovalReply, error)
		err    string
	}{
		"an error":               {func(context.Context, hook.ApprovalRequest) (hook.ApprovalReply, error) { return yes, boom }, "ask for approval of bash: boom"},
		"no answer":              {says(hook.ApprovalReply{}).answer, `answer is ""; it is approve, refuse or modify`},
		"an answer of no kind":   {says(hook.ApprovalReply{Answer: hook.AnswerStop}).answer, `answer is "stop"`},
		"an offer of nobody's":   {says(remembering(yes, "tool-project")).answer, `remember is "tool-project", which is none of the offers of this ask: call-conversation`},
		"an answer of a rule's":  {says(hook.ApprovalReply{Answer: hook.AnswerApprove, By: "rule"}).answer, "by has to be a name"},
		"a path for a name":      {says(hook.ApprovalReply{Answer: hook.AnswerApprove, By: "Core.Guard"}).answer, "by has to be a name"},
		"a name with an escape":  {says(hook.ApprovalReply{Answer: hook.AnswerApprove, By: "\x1b[2J"}).answer, "by has to be a name"},
		"a reason to approve":    {says(hook.ApprovalReply{Answer: hook.AnswerApprove, Reason: "x"}).answer, "reason goes with the answer refuse only"},
		"a reason without end":   {says(hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: strings.Repeat("x", 4097)}).answer, "at most 4096 bytes"},
		"arguments to approve":   {says(hook.ApprovalReply{Answer: hook.AnswerApprove, Args: "{}"}).answer, "args goes with the answer modify only"},
		"arguments of no object": {says(hook.ApprovalReply{Answer: hook.AnswerModify, Args: "[]"}).answer, "args is no object"},
		"arguments cut off":      {says(hook.ApprovalReply{Answer: hook.AnswerModify, Args: `{"a":`}).answer, "args is no object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := approval.New(nil).Approve(t.Context(), newPlace(&people{answer: tt.answer}, "helper", "conv").call(bash, `{"command":"ls"}`), because)
			require.ErrorContains(t, err, tt.err)
			assert.Equal(t, hook.ApprovalDecision{}, d)
		})
	}
	t.Run("nobody can be asked", func(t *testing.T) {
		t.Parallel()
		v := verdict(t, approval.New(nil), newPlace(nil, "helper", "conv").call(bash, `{}`))
		assert.Equal(t, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "bash needs a person's approval, and nobody can be asked here."}, v)
	})
	t.Run("no place", func(t *testing.T) {
		t.Parallel()
		call := hook.NewToolCall(hook.ToolCallData{ID: "c1", Tool: bash, Args: `not even JSON`})
		assert.Equal(t, hook.AnswerRefuse, verdict(t, approval.New(nil), call).Kind)
	})
}

// TestTurnEnds: an ask whose turn is cancelled is refused at once.
func TestTurnEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, where := approval.New(&approval.Options{OnTimeout: approval.ApproveOnTimeout}), newPlace(silent(), "helper", "conv")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		d, err := a.Approve(ctx, where.call(bash, `{}`), because)
		require.NoError(t, err, "an end is no failure")
		assert.Equal(t, hook.Verdict{Kind: hook.AnswerRefuse, Reason: approval.Interrupted}, d.Verdict())
		assert.Equal(t, time.Second, time.Since(begun))
		assert.Empty(t, where.host.Events())
	})
}

// TestAcceptedInTheLastMoment: somebody was told that an answer counts, so it does.
func TestAcceptedInTheLastMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &people{answer: func(ctx context.Context, _ hook.ApprovalRequest) (hook.ApprovalReply, error) {
			<-ctx.Done()
			time.Sleep(500 * time.Millisecond)
			return remembering(yes, "call-conversation"), nil
		}}
		a, where := approval.New(&approval.Options{Timeout: time.Minute}), newPlace(p, "helper", "conv")
		assert.Equal(t, "ann", verdict(t, a, where.call(bash, `{}`)).By)
		assert.Equal(t, "rule", verdict(t, a, where.call(bash, `{}`)).By)
		assert.Empty(t, where.host.Events())
	})
}

// TestSixtyFourAtOnce: each ask gets the answer to itself.
func TestSixtyFourAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	all.Add(64)
	p := &people{answer: func(_ context.Context, r hook.ApprovalRequest) (hook.ApprovalReply, error) {
		all.Done()
		all.Wait() // nobody waits for another's answer
		return hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: string(r.Args)}, nil
	}}
	a, where := approval.New(&approval.Options{Store: approval.Dir(t.TempDir()), Project: t.TempDir()}), newPlace(p, "helper", "conv")
	var asking sync.WaitGroup
	for i := range 64 {
		asking.Go(func() {
			args := message.JSON(fmt.Sprintf(`{"command":"%d"}`, i))
			d, err := a.Approve(t.Context(), where.call(bash, args), because)
			assert.NoError(t, err)
			assert.Equal(t, string(args), d.Verdict().Reason)
		})
	}
	asking.Wait()
}

// TestRuleAnswersThoseWhoWait: of 64 asks for one thing a person answers one, and
// the others have their answer, too.
func TestRuleAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan hook.ApprovalReply, 1)
		p := &people{answer: func(ctx context.Context, _ hook.ApprovalRequest) (hook.ApprovalReply, error) {
			select {
			case r := <-answer:
				return r, nil
			case <-ctx.Done():
				return hook.ApprovalReply{}, context.Cause(ctx)
			}
		}}
		a, where := approval.New(&approval.Options{Timeout: -1}), newPlace(p, "helper", "conv")
		var asking sync.WaitGroup
		var mu sync.Mutex
		by := map[string]int{}
		for range 64 {
			asking.Go(func() {
				v := verdict(t, a, where.call(lookup, `{"q":"x"}`))
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, hook.AnswerApprove, v.Kind)
				by[v.By]++
			})
		}
		other := make(chan hook.Verdict)
		go func() { other <- verdict(t, a, where.call(lookup, `{"q":"y"}`)) }()
		synctest.Wait()
		assert.Equal(t, 65, p.count())
		// Whose ask it is, is chance: the first one that is not of the other call counts.
		answer <- remembering(yes, "tool-conversation")
		asking.Wait()
		assert.Equal(t, hook.AnswerApprove, (<-other).Kind, "any call of the tool")
		assert.LessOrEqual(t, by["ann"], 1)
		assert.GreaterOrEqual(t, by["rule"], 63)
	})
}
