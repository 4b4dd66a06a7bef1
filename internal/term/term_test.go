package term_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/term"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSummary(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args message.JSON
		want string
	}{
		{"", ""},
		{"{}", ""},
		{`{"command":"ls\n-l"}`, "ls -l"},
		{`{"n":12}`, "12"},
		{`{"a":"x","b":[1,2],"c":{"d":null}}`, `a=x b=[1,2] c={"d":null}`},
		{`{"content":"` + message.JSON(strings.Repeat("x", 60)) + `","file_path":"a"}`, "content=" + strings.Repeat("x", 39) + "… file_path=a"},
		{`{"a":`, `{"a":`},
		{`[1]`, `[1]`},
		{`{"a":"` + `\u001b[2J` + `"}`, `\x1b[2J`},
	}
	for _, tt := range tests {
		t.Run(string(tt.args), func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, term.Summary(tt.args, 100).String())
		})
	}
	assert.Equal(t, "abcd…", term.Summary(`{"a":"abcdefgh"}`, 5).String())
}

func eventOf(kind hook.EventKind, text string, d hook.EventDetail) hook.Event {
	return hook.Event{Kind: kind, Text: text}.WithDetail(d)
}

// turn is a whole turn: a single call, then three at once of which the first is
// the slowest, one of them asked and refused.
func turn() []hook.Event {
	done := func(id, tool string, r message.ToolResult, o message.Outcome, took time.Duration) hook.Event {
		return eventOf(event.CallResult, "", hook.EventDetail{CallID: id, Tool: tool, Result: r, Outcome: o, Duration: took})
	}
	start := func(id, tool string, args message.JSON) hook.Event {
		return eventOf(event.CallStart, "", hook.EventDetail{CallID: id, Tool: tool, Args: args})
	}
	return []hook.Event{
		eventOf(event.TurnStart, "hello", hook.EventDetail{}),
		eventOf(event.ReasoningDelta, "Hm.", hook.EventDetail{}),
		eventOf(event.ReasoningEnd, "", hook.EventDetail{}),
		eventOf(event.TextDelta, "I look ", hook.EventDetail{}),
		eventOf(event.TextDelta, "it up\x1b[2J.", hook.EventDetail{}),
		eventOf(event.TextEnd, "", hook.EventDetail{}),
		eventOf(event.CallsBegin, "", hook.EventDetail{Tools: message.ListOf("recall")}),
		start("c1", "recall", `{"query":"tea"}`),
		done("c1", "recall", message.TextResult("## tea\ngreen"), message.OutcomeExecuted, 3*time.Millisecond),
		eventOf(event.StepEnd, "", hook.EventDetail{}),
		{Kind: event.StepStart, Step: 2},
		eventOf(event.CallsBegin, "", hook.EventDetail{Tools: message.ListOf("bash", "read", "write")}),
		start("a", "bash", `{"command":"sleep 1"}`),
		start("b", "read", `{"file_path":"x.md"}`),
		start("c", "write", `{"file_path":"y","content":"z"}`),
		eventOf(event.ApprovalAsked, "destructive", hook.EventDetail{CallID: "a", Tool: "bash"}),
		eventOf(event.ApprovalGiven, "as you like", hook.EventDetail{CallID: "a", Tool: "bash", Answer: hook.AnswerApprove, By: "Asking"}),
		eventOf(event.ApprovalGiven, "The user said no.", hook.EventDetail{CallID: "c", Tool: "write", Answer: hook.AnswerRefuse}),
		done("c", "write", message.FailedResult(message.FailDenied, "The user said no."), message.OutcomeDenied, 0),
		eventOf(event.CallProgress, "half way", hook.EventDetail{CallID: "a", Tool: "bash"}),
		done("b", "read", message.FailedResult(message.FailNotFound, "no such file"), message.OutcomeFailed, 200*time.Microsecond),
		done("a", "bash", message.TextResult("ok"), message.OutcomeExecuted, 1200*time.Millisecond),
		eventOf(event.HookFailed, "Memory failed at OnEvent", hook.EventDetail{}),
		eventOf(event.PlanUpdated, "1. [x] look\n2. [ ] tell\x1b[2J", hook.EventDetail{}),
		eventOf(event.SkillLoaded, "review", hook.EventDetail{}),
		eventOf(event.PlanUpdated, "# A boat\n\n- [x] saw\n- [~] plane\x1b[2J\n- [ ] oil", hook.EventDetail{}),
		eventOf(event.ServerConnected, "gh", hook.EventDetail{}),
		eventOf(event.ServerLost, "gh: exit status 1", hook.EventDetail{}),
		eventOf(event.Diagnostic, "cut", hook.EventDetail{Visibility: event.VisibleUser}),
		eventOf(event.Diagnostic, "for those who look for a fault", hook.EventDetail{Visibility: event.VisibleDebug}),
		eventOf(event.TextDelta, "Half", hook.EventDetail{}),
		eventOf(event.TurnRetried, "too short", hook.EventDetail{}),
		eventOf(event.TurnRetried, "rate limit", hook.EventDetail{Answer: hook.AnswerRetry, Duration: 3440 * time.Millisecond}),
		eventOf(event.TurnRetried, "busy; asking b instead", hook.EventDetail{Answer: hook.AnswerFallback}),
		eventOf(event.CompactionAuto, "the request has about 7000 of 8000 tokens", hook.EventDetail{}),
		eventOf(event.TextDelta, "Done.\n", hook.EventDetail{}),
		eventOf(event.TextEnd, "", hook.EventDetail{}),
		eventOf(event.Error, "odd", hook.EventDetail{}),
	}
}

const printed = `Hm.
I look it up\x1b[2J.
  → recall  tea  ✓ 3 ms
    ## tea green

  → 1 bash  sleep 1
  → 2 read  x.md
  → 3 write  file_path=y content=z
  ? 1 bash asks first: allowed, as you like
  ? 3 write asks first: refused
  ✗ 3 write  denied: The user said no.
  … 1 bash: half way
  ✗ 2 read  <1 ms  failed: no such file
  ✓ 1 bash  1.2 s  ok
  ! Memory failed at OnEvent
  · 1. [x] look
  · 2. [ ] tell\x1b[2J
  · skill loaded: review
  ☰ 1 of 3 done · now: plane\x1b[2J
  · MCP server connected: gh
  ! MCP server lost: gh: exit status 1
  · cut
Half
~ the answer above is dropped: too short
~ rate limit; asking again in 3.4s
~ busy; asking b instead
  · summing up older turns: the request has about 7000 of 8000 tokens
Done.
— completed · 2 steps · 4 tool calls · 10 tokens in, 3 out · $0.0042 · 2m5s
`

func outcome() hook.TurnOutcome {
	return hook.TurnOutcome{
		Stop: hook.StopCompleted, Message: message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("Done."))},
		Usage: message.Usage{Input: 10, Output: 3}, Cost: 4_200_000, Steps: 2, Calls: 4, Duration: 2*time.Minute + 5*time.Second,
	}
}

func TestPrinter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := term.NewPrinter(&out, false)
	for _, ev := range turn() {
		p.OnEvent(ev)
	}
	p.Outcome(outcome())
	assert.Equal(t, printed, out.String())
}

func TestPrinterColor(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := term.NewPrinter(&out, true)
	for _, ev := range turn() {
		p.OnEvent(ev)
	}
	assert.Contains(t, out.String(), "\x1b[31m  ✗ 2 read\x1b[0m")
	assert.Contains(t, out.String(), `it up\x1b[2J.`, "what the model wrote never reaches the terminal raw")
}

func TestCause(t *testing.T) {
	t.Parallel()
	secret := &hook.Failure{Subsystem: "Guard", Point: point.BeforeModel, Err: errors.New("secret")}
	tests := []struct {
		name string
		out  hook.TurnOutcome
		want string
	}{
		{"completed", hook.TurnOutcome{Stop: hook.StopCompleted}, ""},
		{"cancelled", hook.TurnOutcome{Stop: hook.StopCancelled, Err: context.Canceled}, "cancelled; what had finished is kept in the conversation"},
		{"stopped by its user", hook.TurnOutcome{Stop: hook.StopUserRequested, Err: context.Canceled}, "cancelled; what had finished is kept in the conversation"},
		{"error", hook.TurnOutcome{Stop: hook.StopError, Err: errors.New("no model")}, "the turn failed: no model"},
		{"a hook's failure", hook.TurnOutcome{Stop: hook.StopError, Err: fmt.Errorf("step 1: %w", secret)}, "the turn failed: Guard failed at BeforeModel"},
		{"signal", hook.TurnOutcome{Stop: hook.StopStepsLimit, Signals: message.ListOf(hook.StopSignal{Reason: hook.StopStepsLimit, Text: "20 of 20 steps"})}, "stopped: 20 of 20 steps"},
		{"no text", hook.TurnOutcome{Stop: hook.StopDenied}, "stopped: denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, term.Cause(tt.out))
		})
	}
}

func TestJSONPrinter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := term.NewJSONPrinter(&out)
	events := turn()
	for _, ev := range events {
		p.OnEvent(ev)
	}
	p.Outcome(outcome())
	require.NoError(t, p.Err())
	var kinds []string
	var last map[string]any
	for sc := bufio.NewScanner(&out); sc.Scan(); {
		last = map[string]any{}
		require.NoError(t, json.Unmarshal(sc.Bytes(), &last))
		kinds = append(kinds, last["kind"].(string))
	}
	require.Len(t, kinds, len(events)+1)
	assert.Equal(t, "turn_start", kinds[0])
	assert.Equal(t, map[string]any{
		"kind": "outcome", "stop": "completed", "text": "Done.", "steps": 2.0, "calls": 4.0,
		"usage": map[string]any{"input": 10.0, "output": 3.0}, "cost": 4_200_000.0, "duration_ms": 125000.0,
	}, last)
}

func TestJSONPrinterKeepsTheFirstError(t *testing.T) {
	t.Parallel()
	p := term.NewJSONPrinter(brokenPipe{})
	p.OnEvent(hook.Event{Kind: event.StepStart})
	p.OnEvent(hook.Event{Kind: event.StepEnd})
	assert.ErrorIs(t, p.Err(), io.ErrClosedPipe)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func call(conversation, tool string, args message.JSON, notes message.Annotations) *hook.ToolCall {
	conv := hook.NewConversation(hook.ConversationData{ID: conversation, Agent: &hook.AgentConfig{}})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv})
	return hook.NewToolCall(hook.ToolCallData{
		Step: hook.NewStep(turn, 1, ""), ID: "c", Tool: message.Tool{Name: tool, Annotations: notes}, Args: args,
	})
}

// slowly returns a reader that gives one line per read, as a terminal does.
func slowly(t *testing.T, text string) io.Reader {
	r, w := io.Pipe()
	go func() {
		for l := range strings.Lines(text) {
			_, _ = io.WriteString(w, l)
		}
		_ = w.Close()
	}()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestPreview(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		args  message.JSON
		lines int
		want  string
		cut   bool
	}{
		{"command", `{"command":"cd /\nrm \u001b[1A-rf x"}`, 9, "  $ cd /\n    rm \\x1b[1A-rf x\n", false},
		{"edit", `{"file_path":"a.go","old_string":"a\nb","new_string":"c\n"}`, 9, "  file_path: a.go\n  - a\n  - b\n  + c\n", false},
		{"write", `{"file_path":"a","content":"1\n2\n3\n4"}`, 2, "  file_path: a\n  + 1\n  + 2\n    … 2 more lines\n", true},
		{"all", `{"content":"1\n2\n3"}`, 0, "  + 1\n  + 2\n  + 3\n", false},
		{"other", `{"a":{"b":[1]},"n":null}`, 9, "  a: {\n       \"b\": [\n         1\n       ]\n     }\n  n: null\n", false},
		{"no object", `"x"`, 9, "  \"x\"\n", false},
		{"empty", `{}`, 9, "  {}\n", false},
		{"long", message.JSON(`{"command":"` + strings.Repeat("x", 600) + `"}`), 9, "  $ " + strings.Repeat("x", 495) + "… 105 more characters\n", true},
		{"all of it", message.JSON(`{"command":"` + strings.Repeat("x", 600) + `"}`), 0, "  $ " + strings.Repeat("x", 600) + "\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			shown, cut := term.Preview(call("1", "x", tt.args, message.Annotations{}), "", tt.lines, false)
			text := shown.String()
			assert.Equal(t, tt.want, text)
			assert.Equal(t, tt.cut, cut)
		})
	}
	text, _ := term.Preview(call("1", "x", `{"old_string":"a","new_string":"b"}`, message.Annotations{}), "", 0, true)
	assert.Equal(t, "\x1b[31m  - a\x1b[0m\n\x1b[32m  + b\x1b[0m\n", text.String())
	text, _ = term.Preview(call("1", "x", `{"command":"cd a\nls && rm \u200bx; ls"}`, message.Annotations{}), "rm \u200bx", 9, true)
	assert.Equal(t, "  $ cd a\n    ls && \x1b[4mrm \\u{200b}x\x1b[0m; ls\n", text.String())
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := term.NewApprover(&term.ApproverOptions{In: slowly(t, "what?\ny\nno\n"), Out: &out})
	for _, want := range []bool{true, false, false} { // the third time the input has ended
		ok, err := a.Confirm(t.Context(), "Servers:\x1b[2J", "Start them?")
		require.NoError(t, err)
		assert.Equal(t, want, ok)
	}
	assert.Equal(t, 4, strings.Count(out.String(), "Start them? [y]es, [n]o: "))
	assert.NotContains(t, out.String(), "\x1b")
	ok, err := term.NewApprover(&term.ApproverOptions{Yes: true}).Confirm(t.Context(), "", "")
	require.NoError(t, err)
	assert.False(t, ok, "nobody is there")
}

// TestPrinterTellsOfErrors: what could not be written is no secret, and what went
// wrong in several lines is shown whole.
func TestPrinterTellsOfErrors(t *testing.T) {
	t.Parallel()
	p := term.NewPrinter(brokenPipe{}, false)
	require.NoError(t, p.Err())
	p.Note("hello")
	require.ErrorIs(t, p.Err(), io.ErrClosedPipe)

	var out bytes.Buffer
	p = term.NewPrinter(&out, false)
	p.Outcome(hook.TurnOutcome{Stop: hook.StopError, Err: errors.New("one " + strings.Repeat("x", 500) + "\n  two\x1b\nthree\n")})
	require.NoError(t, p.Err())
	assert.Contains(t, out.String(), "✗ the turn failed: one "+strings.Repeat("x", 500)+"\n  │   two\\x1b\n  │ three\n— error")
}

// TestPrinterTellsOfMedia: a terminal cannot show what a model made, but says that it is there.
func TestPrinterTellsOfMedia(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := term.NewPrinter(&out, false)
	made := message.Block{Kind: message.BlockImage, MIME: "image/\x1b[2Jpng", Data: "aGkhaGkh"}
	p.Outcome(hook.TurnOutcome{Stop: hook.StopCompleted, Message: message.Message{Content: message.ListOf(message.TextBlock("see"), made)}})
	assert.Contains(t, out.String(), `[image, image/\x1b[2Jpng, 6 bytes]`)
}
