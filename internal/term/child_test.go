package term_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
)

// delegation is a turn that runs two agents at once, one of which runs a third.
func delegation() []hook.Event {
	at := func(depth int, agent, turn string, ev hook.Event) hook.Event {
		ev.Depth, ev.Agent, ev.Turn = depth, agent, turn
		return ev
	}
	call := hook.EventDetail{CallID: "d", Tool: "delegate"}
	one := func(kind hook.EventKind, text string, d hook.EventDetail) hook.Event {
		return at(1, "reviewer", "t1", eventOf(kind, text, d))
	}
	two := func(kind hook.EventKind, text string, d hook.EventDetail) hook.Event {
		return at(1, "writer", "t2", eventOf(kind, text, d))
	}
	read := hook.EventDetail{CallID: "c1", Tool: "read", Args: `{"file_path":"a.md"}`}
	bash := hook.EventDetail{CallID: "c1", Tool: "bash", Args: `{"command":"rm x"}`}
	done := func(d hook.EventDetail, r message.ToolResult, o message.Outcome, took time.Duration) hook.EventDetail {
		d.Result, d.Outcome, d.Duration = r, o, took
		return d
	}
	return []hook.Event{
		eventOf(event.CallStart, "", hook.EventDetail{CallID: "d", Tool: "delegate", Args: `{"tasks":[]}`}),
		one(event.SubagentStart, "Review\nit.", call),
		two(event.SubagentStart, "Write.", call),
		one(event.TurnStart, "Review it.", hook.EventDetail{}),
		one(event.TextDelta, "I look", hook.EventDetail{}),
		two(event.TextDelta, "Once upon", hook.EventDetail{}),
		one(event.CallsBegin, "", hook.EventDetail{Tools: message.ListOf("read")}),
		one(event.CallStart, "", read),
		two(event.CallStart, "", bash),
		two(event.ApprovalAsked, "it may change things", bash),
		two(event.ApprovalGiven, "", hook.EventDetail{CallID: "c1", Tool: "bash", Answer: hook.AnswerApprove}),
		one(event.CallResult, "", done(read, message.TextResult("text"), message.OutcomeExecuted, 3*time.Millisecond)),
		two(event.CallProgress, "half way", bash),
		two(event.CallResult, "", done(bash, message.FailedResult(message.FailOperation, "no such file"), message.OutcomeFailed, time.Second)),
		at(2, "plain", "t3", eventOf(event.SubagentStart, "Count.", call)),
		at(2, "plain", "t3", eventOf(event.Error, "the model is gone", hook.EventDetail{})),
		at(2, "plain", "t3", eventOf(event.SubagentEnd, "", hook.EventDetail{Stop: hook.StopError})),
		one(event.Diagnostic, "cut", hook.EventDetail{Visibility: event.VisibleUser}),
		two(event.SubagentEnd, "Once upon a time.", hook.EventDetail{Stop: hook.StopCompleted}),
		one(event.SubagentEnd, "", hook.EventDetail{Stop: hook.StopStepsLimit}),
		eventOf(event.CallResult, "", hook.EventDetail{CallID: "d", Tool: "delegate", Result: message.TextResult("[…]"), Outcome: message.OutcomeExecuted, Duration: 2 * time.Second}),
		eventOf(event.TextDelta, "Done.", hook.EventDetail{}),
		eventOf(event.TextEnd, "", hook.EventDetail{}),
	}
}

func TestPrinterShowsChildrenApart(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := term.NewPrinter(&out, false)
	for _, ev := range delegation() {
		p.OnEvent(ev)
	}
	assert.Equal(t, `  → delegate  []
    ▸ reviewer: Review it.
    ▸ writer: Write.
    ? writer: bash asks first: allowed
    ✓ reviewer: read  a.md  3 ms
    … writer: bash: half way
    ✗ writer: bash  rm x  1.0 s
      failed: no such file
      ▸ plain: Count.
      ✗ plain: the model is gone
      ◂ plain: error
    · reviewer: cut
    ◂ writer: Once upon a time.
    ◂ reviewer: steps_limit
  ✓ delegate  2.0 s  […]
Done.
`, out.String())
}

func TestPrinterShowsQuestionsAndWhatWasSaidMeanwhile(t *testing.T) {
	t.Parallel()
	q := inquiry()
	given := func(by, text string, g ...hook.Given) hook.Event {
		return eventOf(event.QuestionGiven, text, hook.EventDetail{Inquiry: q, By: by, Response: hook.Response{Given: message.Freeze(g)}})
	}
	var out bytes.Buffer
	p := term.NewPrinter(&out, false)
	for _, ev := range []hook.Event{
		eventOf(event.CallStart, "", hook.EventDetail{CallID: "a", Tool: "ask_user", Args: `{"questions":3}`}),
		eventOf(event.QuestionAsked, "", hook.EventDetail{Inquiry: q}),
		given("terminal", "", hook.Given{Chosen: message.ListOf("SQLite")}, hook.Given{}, hook.Given{Text: "Boat\x1b"}),
		given(term.ByNobody, "", hook.Given{Text: "Nobody can."}, hook.Given{}, hook.Given{}),
		given("api", "", hook.Given{}, hook.Given{}, hook.Given{}),
		given("", "nobody answered in time"),
		eventOf(event.Steered, "Hurry up.", hook.EventDetail{}),
	} {
		p.OnEvent(ev)
	}
	assert.Equal(t, `  → ask_user  3
  ? Which database? SQLite
  ? What is it called? "Boat\x1b"
  ? nobody is here to answer the question
  ? the question is left unanswered
  ? nobody answered in time
  > Hurry up.
`, out.String())
}
