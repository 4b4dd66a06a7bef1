package term_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
)

// answered is what bash answers.
func answered(t *testing.T, stdout, stderr string, code int, truncated bool) message.ToolResult {
	data, err := json.Marshal(struct {
		Stdout    string `json:"stdout"`
		Stderr    string `json:"stderr"`
		ExitCode  int    `json:"exit_code"`
		Truncated bool   `json:"truncated,omitzero"`
	}{stdout, stderr, code, truncated})
	require.NoError(t, err)
	return message.JSONResult(message.JSON(data))
}

func numbered(n int) string {
	var sb strings.Builder
	for i := range n {
		fmt.Fprintf(&sb, "line %d\n", i+1)
	}
	return sb.String()
}

// TestACommandsOutputIsShownAsLines, as the person would have seen them, and never as
// lines of the program's own.
func TestACommandsOutputIsShownAsLines(t *testing.T) {
	t.Parallel()
	killed := answered(t, "half\n", "", 137, false)
	killed.Content = message.ListOf(message.TextBlock("The command took too long."), killed.Content.At(0))
	killed.Failure = message.FailTimeout
	for _, tc := range []struct {
		name           string
		result         message.ToolResult
		alone, several string // below the line of the call, and with it
	}{
		{"nothing", answered(t, "", "", 0, false), "", "  ✓ 1 bash  5 ms\n"},
		{"a line", answered(t, "94 nmi\n", "", 0, false), "    │ 94 nmi\n", "  ✓ 1 bash  5 ms  94 nmi\n"},
		{"lines", answered(t, "a\n\tb  c\n\nd", "", 0, false), "    │ a\n    │ \tb  c\n    │ \n    │ d\n", ""},
		{"both outputs", answered(t, "out\n", "warning\nagain\n", 0, false), "    │ out\n    stderr │ warning\n    stderr │ again\n", ""},
		{"an exit code", answered(t, "", "no\n", 2, false), "    stderr │ no\n    exit code 2\n", ""},
		{"an exit code alone", answered(t, "", "", 1, false), "    exit code 1\n", ""},
		{"as many as are shown", answered(t, numbered(11), "", 0, false), "    │ " + strings.ReplaceAll(strings.TrimSuffix(numbered(11), "\n"), "\n", "\n    │ ") + "\n", ""},
		{"too many", answered(t, numbered(1000), "", 0, false), "    │ line 1\n    │ line 2\n    │ line 3\n    │ line 4\n    │ line 5\n" +
			"    … 990 lines are left out\n    │ line 996\n    │ line 997\n    │ line 998\n    │ line 999\n    │ line 1000\n", ""},
		{"a part of them", answered(t, "", numbered(12), 0, true), "    stderr │ line 1\n    stderr │ line 2\n    stderr │ line 3\n    stderr │ line 4\n    stderr │ line 5\n" +
			"    … 2 lines are left out, and what the tool has not kept\n" +
			"    stderr │ line 8\n    stderr │ line 9\n    stderr │ line 10\n    stderr │ line 11\n    stderr │ line 12\n", ""},
		{"a long line", answered(t, strings.Repeat("x", 500), "", 0, false), "    │ " + strings.Repeat("x", 93) + "…\n",
			"  ✓ 1 bash  5 ms  " + strings.Repeat("x", 79) + "…\n"},
		{"what acts on a terminal", answered(t, "\x1b[2J\u202ea\r\n  ✓ 2 write  1 ms\nx\ry", "\x07", 0, false),
			"    │ \\x1b[2J\\u{202e}a\n    │   ✓ 2 write  1 ms\n    │ x\\x0dy\n    stderr │ \\x07\n", ""},
		{"it was killed", killed, "    timeout: The command took too long.\n    │ half\n    exit code 137\n",
			"  ✗ 1 bash  5 ms  timeout: The command took too long.\n    │ half\n    exit code 137\n"},
		{"no command", message.TextResult(`{"stdout":"a"}`), "    {\"stdout\":\"a\"}\n", "  ✓ 1 bash  5 ms  {\"stdout\":\"a\"}\n"},
		{"more than a command says", message.TextResult(`{"stdout":"a","stderr":"","exit_code":0,"more":1}`),
			"    {\"stdout\":\"a\",\"stderr\":\"\",\"exit_code\":0,\"more\":1}\n", "  ✓ 1 bash  5 ms  {\"stdout\":\"a\",\"stderr\":\"\",\"exit_code\":0,\"more\":1}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			outcome := message.OutcomeExecuted
			if tc.result.IsError() {
				outcome = "timeout"
			}
			show := func(tools ...string) string {
				var out bytes.Buffer
				p := term.NewPrinter(&out, false)
				p.OnEvent(eventOf(event.CallsBegin, "", hook.EventDetail{Tools: message.ListOf(tools...)}))
				p.OnEvent(eventOf(event.CallStart, "", hook.EventDetail{CallID: "a", Tool: "bash", Args: `{"command":"go"}`}))
				p.OnEvent(eventOf(event.CallResult, "", hook.EventDetail{
					CallID: "a", Tool: "bash", Result: tc.result, Outcome: outcome, Duration: 5 * time.Millisecond,
				}))
				require.NoError(t, p.Err())
				_, below, _ := strings.Cut(out.String(), "\n")
				return below
			}
			assert.Equal(t, tc.alone, show("bash"))
			several := tc.several
			if several == "" {
				several = "  ✓ 1 bash  5 ms\n" + tc.alone
			}
			assert.Equal(t, several, show("bash", "read"))
		})
	}
}

// TestResultText: where a result is shown otherwise, it is no JSON either.
func TestResultText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a\nb\nstderr: c\nexit code 3", term.ResultText(answered(t, "a\nb\n", "c\n", 3, false)))
	assert.Equal(t, "", term.ResultText(answered(t, "", "", 0, false)))
	assert.Equal(t, "text", term.ResultText(message.TextResult("text")))
}
