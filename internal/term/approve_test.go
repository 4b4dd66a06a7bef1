package term_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// listing is a request about a command, with two offers.
func listing() term.Request {
	return term.Request{Agent: "helper", Inquiry: hook.Inquiry{ID: "i", Approval: &hook.ApprovalRequest{
		CallID: "c", Tool: "bash", Args: `{"command":"ls"}`, Reason: "it may change things",
		Offers: message.ListOf(
			hook.Offer{ID: "call-conversation", Text: "exactly this call of bash, in this conversation"},
			hook.Offer{ID: "call-agent", Text: "exactly this call of bash, by the agent helper"},
		),
	}}}
}

// approves asks about a call, and returns the reply with the name of who gave it.
func approves(ctx context.Context, a *term.Approver, r term.Request) (hook.ApprovalReply, error) {
	response, by, err := a.Inquire(ctx, r)
	if response.Approval == nil {
		return hook.ApprovalReply{}, err
	}
	reply := *response.Approval
	reply.By = by
	return reply, err
}

func TestAsk(t *testing.T) {
	t.Parallel()
	const no = "The user said no: "
	approve := hook.ApprovalReply{Answer: hook.AnswerApprove, By: "terminal"}
	refuse := hook.ApprovalReply{Answer: hook.AnswerRefuse, By: "terminal"}
	with := func(r hook.ApprovalReply, reason, remember string, args message.JSON) hook.ApprovalReply {
		r.Reason, r.Remember, r.Args = reason, remember, args
		return r
	}
	modify := hook.ApprovalReply{Answer: hook.AnswerModify, By: "terminal"}
	absent := hook.ApprovalReply{Answer: hook.AnswerRefuse, By: "nobody", Reason: "bash needs a person's approval and nobody can answer here: " +
		"standard input has ended. To allow such calls, run the command again with --yes, or in a terminal."}
	tests := []struct {
		name, typed string
		want        []hook.ApprovalReply
		asked       int
	}{
		{"yes", "y\nYES\n", []hook.ApprovalReply{approve, approve}, 2},
		{"yes, but", "y but not all\nn\n", []hook.ApprovalReply{refuse}, 2},
		{"no", "n\n no \n", []hook.ApprovalReply{refuse, refuse}, 2},
		{"no, and why", "n not today\nno, it is Friday\n", []hook.ApprovalReply{with(refuse, no+"not today", "", ""), with(refuse, no+"it is Friday", "", "")}, 2},
		{"always", "a\n1\nalways\n2\n", []hook.ApprovalReply{with(approve, "", "call-conversation", ""), with(approve, "", "call-agent", "")}, 2},
		{"never", "v\n1\nNever\n2\n", []hook.ApprovalReply{with(refuse, "", "call-conversation", ""), with(refuse, "", "call-agent", "")}, 2},
		{"always, on second thoughts not", "a\n7\nwhat\n\ny\n", []hook.ApprovalReply{approve}, 2},
		{"edit", "e\nls -l\n", []hook.ApprovalReply{with(modify, "", "", `{"command":"ls -l"}`)}, 1},
		{"edit, and leave it", "edit\n\nn\n", []hook.ApprovalReply{refuse}, 2},
		{"edit nothing", "e\nls\n", []hook.ApprovalReply{approve}, 1},
		{"asked again until understood", "\nmaybe\ny\n", []hook.ApprovalReply{approve}, 3},
		{"end of input", "", []hook.ApprovalReply{absent}, 1},
		{"end of input while choosing", "a\n", []hook.ApprovalReply{absent}, 1},
		{"end of input while editing", "e\n", []hook.ApprovalReply{absent}, 1},
		{"no line break at the end", "y", []hook.ApprovalReply{approve}, 1},
		{"too long", strings.Repeat("y", 5000) + "\n", []hook.ApprovalReply{{}}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := term.NewApprover(&term.ApproverOptions{In: slowly(t, tt.typed), Out: &out})
			for _, want := range tt.want {
				got, err := approves(t.Context(), a, listing())
				assert.Equal(t, want == hook.ApprovalReply{}, err != nil)
				assert.Equal(t, want, got)
				assert.True(t, err != nil || listing().Approval.Check(got) == nil)
			}
			assert.Equal(t, tt.asked, strings.Count(out.String(), "Allow it?"))
			assert.Contains(t, out.String(), "bash wants to run: it may change things\n  $ ls\nAllow it? [y]es, [n]o, [a]lways, ne[v]er, [e]dit: ")
		})
	}
}

// TestAskEditsJSON: what is more than a command is edited as what it is, with
// nothing in it that acts on the terminal.
func TestAskEditsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := term.NewApprover(&term.ApproverOptions{In: slowly(t, "e\nno JSON\n[1]\n{\"command\":\"ls\",\"timeout\":9}\n"), Out: &out})
	r := listing()
	r.Approval.Args = "{\"command\":\"ls \u202e\U000e0041\",\"timeout\":1}"
	got, err := approves(t.Context(), a, r)
	require.NoError(t, err)
	assert.Equal(t, hook.ApprovalReply{Answer: hook.AnswerModify, Args: `{"command":"ls","timeout":9}`, By: "terminal"}, got)
	assert.Contains(t, out.String(), `  {"command":"ls \u202e\udb40\udc41","timeout":1}`+"\nArguments, as JSON")
	assert.Equal(t, 2, strings.Count(out.String(), "args is no object; modify needs the arguments"))
	assert.NotContains(t, out.String(), "\u202e")
}

// TestAskShowsWhatMatters: who asks, what a silence means, and nothing that acts on
// the terminal.
func TestAskShowsWhatMatters(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := term.NewApprover(&term.ApproverOptions{In: slowly(t, "a\n\nn\n"), Out: &out})
	r := listing()
	r.Depth, r.Approval.Reason = 1, "because\x1b[2J"
	r.Expires, r.Approval.ApprovedOnTimeout = time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), true
	r.Approval.Offers = message.ListOf(hook.Offer{ID: "x", Text: "all\x1b[1A"})
	_, err := approves(t.Context(), a, r)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "helper: bash wants to run: because\\x1b[2J\n  $ ls\n  Without an answer it is allowed at 03:04:05.\nAllow it?")
	assert.Contains(t, out.String(), "  1  all\\x1b[1A\nWhat is allowed from now on? 1-1 (Enter for nothing): ")
	out.Reset()
	a = term.NewApprover(&term.ApproverOptions{In: slowly(t, "a\nv\ny\n"), Out: &out})
	r.Approval.Offers = message.List[hook.Offer]{}
	_, err = approves(t.Context(), a, r)
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(out.String(), "Allow it? [y]es, [n]o, [e]dit: "), "there is nothing that could be remembered")
}

func TestAskWhereNobodyAnswers(t *testing.T) {
	t.Parallel()
	got, err := approves(t.Context(), term.NewApprover(nil), listing())
	require.NoError(t, err)
	assert.Equal(t, hook.ApprovalReply{Answer: hook.AnswerRefuse, By: "nobody", Reason: "bash needs a person's approval and nobody can answer here: " +
		"standard input is not a terminal. To allow such calls, run the command again with --yes, or in a terminal."}, got)
	got, err = approves(t.Context(), term.NewApprover(&term.ApproverOptions{Yes: true}), listing())
	require.NoError(t, err)
	assert.Equal(t, hook.ApprovalReply{Answer: hook.AnswerApprove, By: "yes"}, got)
}

func TestAskEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		a := term.NewApprover(&term.ApproverOptions{In: in})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for range 2 { // the second one waits for the screen
			go func() {
				_, err := approves(ctx, a, listing())
				ended <- err
			}()
		}
		synctest.Wait()
		cancel()
		for range 2 {
			require.ErrorIs(t, <-ended, context.Canceled)
		}

		// What is typed late answers nothing: it was meant for another question.
		_, _ = io.WriteString(typing, "yes\n")
		synctest.Wait()
		answered := make(chan hook.Answer)
		go func() {
			reply, _ := approves(t.Context(), a, listing())
			answered <- reply.Answer
		}()
		synctest.Wait()
		_, _ = io.WriteString(typing, "no\n")
		require.Equal(t, hook.AnswerRefuse, <-answered)
	})
}

func TestAskShowsAll(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := term.NewApprover(&term.ApproverOptions{In: slowly(t, "s\ny\n"), Out: &out})
	r := listing()
	r.Approval.Tool, r.Approval.Args = "write", message.JSON(`{"content":"`+strings.Repeat(`x\n`, 40)+`the end"}`)
	got, err := approves(t.Context(), a, r)
	require.NoError(t, err)
	assert.Equal(t, hook.AnswerApprove, got.Answer)
	before, after, _ := strings.Cut(out.String(), "[s]how all: ")
	assert.NotContains(t, before, "the end")
	assert.Contains(t, before, "… 11 more lines")
	assert.Contains(t, after, "  + the end\nAllow it? [y]es, [n]o, [a]lways, ne[v]er, [e]dit: ")
}

// TestAskSaysWhatIsReplaced: a write over a file shows what changes in it, or,
// where that cannot be shown, that it replaces the file.
func TestAskSaysWhatIsReplaced(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "text"), []byte("old\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "binary"), []byte("\x00old"), 0o600))
	for name, want := range map[string]string{
		"text":   "-old\n",
		"binary": "  replaces the file that is there\n",
		"other":  "other (new)\n",
	} {
		var out bytes.Buffer
		a := term.NewApprover(&term.ApproverOptions{In: strings.NewReader(""), Out: &out, Root: root})
		assert.True(t, a.Attended())
		r := listing()
		r.Approval.Tool, r.Approval.Args = "write", message.JSON(`{"file_path":"`+name+`","content":"new"}`)
		_, err := approves(t.Context(), a, r)
		require.NoError(t, err)
		assert.Contains(t, out.String(), want, name)
	}
	assert.False(t, term.NewApprover(nil).Attended())
}

// atTerminal is a host whose person sits at a terminal.
type atTerminal struct {
	hook.NoHost
	approver *term.Approver
}

func (h atTerminal) Ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	reply, err := approves(ctx, h.approver, term.Request{Inquiry: q})
	return hook.Response{Approval: &reply}, err
}

// TestAskThroughTheSubsystem: what a person says at the terminal, remembered.
func TestAskThroughTheSubsystem(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := approval.New(&approval.Options{Timeout: -1})
	here := atTerminal{approver: term.NewApprover(&term.ApproverOptions{In: slowly(t, "a\n1\nn\nv\n1\n"), Out: &out})}
	step := hooktest.Step(hooktest.Turn(hooktest.Conversation(nil, here), "Go."))
	approves, refuses := hook.Verdict{Kind: hook.AnswerApprove, By: "terminal"}, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "The user said no.", By: "terminal"}
	byRule := func(v hook.Verdict) hook.Verdict { v.By = "rule"; return v }
	for i, tt := range []struct {
		args message.JSON
		want hook.Verdict
	}{
		{`{"command":"ls"}`, approves},
		{`{"command":"ls"}`, byRule(approves)},
		{`{"command":"rm"}`, refuses},
		{`{"command":"mv"}`, refuses},
		{`{"command":"mv"}`, byRule(refuses)},
	} {
		d, err := a.Approve(t.Context(), hooktest.Call(step, "bash", tt.args), hook.AskTool("it may"))
		require.NoError(t, err)
		assert.Equal(t, tt.want, d.Verdict(), "%d", i)
	}
	assert.Equal(t, 3, strings.Count(out.String(), "Allow it?"))
}

// TestPrinterTellsHowItWasAnswered: a question that an interrupt has ended was not answered no,
// and who did not ask says so.
func TestPrinterTellsHowItWasAnswered(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := term.NewPrinter(&out, false)
	for _, ev := range []hook.Event{
		eventOf(event.ApprovalGiven, approval.Interrupted, hook.EventDetail{Tool: "write", Answer: hook.AnswerRefuse}),
		eventOf(event.ApprovalGiven, "", hook.EventDetail{Tool: "write", Answer: hook.AnswerApprove, By: "Approval.rule"}),
		eventOf(event.ApprovalGiven, "x", hook.EventDetail{Tool: "write", Answer: hook.AnswerRefuse, By: "rule"}),
		eventOf(event.ApprovalTimedOut, "nobody answered within 1s: the call is refused", hook.EventDetail{Tool: "write", Answer: hook.AnswerRefuse}),
		eventOf(event.ApprovalGiven, "x", hook.EventDetail{Tool: "write", Answer: hook.AnswerRefuse, By: "Approval.timeout"}),
		eventOf(event.ApprovalGiven, "", hook.EventDetail{Tool: "write", Answer: hook.AnswerModify, By: "Approval.terminal"}),
	} {
		p.OnEvent(ev)
	}
	assert.Equal(t, "  ? write asks first: interrupted\n"+
		"  ? write asks first: allowed, as was remembered\n"+
		"  ? write asks first: refused, as was remembered\n"+
		"  ! write: nobody answered within 1s: the call is refused\n"+
		"  ? write asks first: refused, as nobody answered in time\n"+
		"  ? write asks first: allowed with other arguments\n", out.String())
}

// TestNothingIsRememberedOfWhatWasCut: a call that was not shown whole is remembered only after
// the person has seen all of it.
func TestNothingIsRememberedOfWhatWasCut(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"lines":      "ls" + strings.Repeat(`\n`, 50) + "rm -rf x",
		"characters": "ls" + strings.Repeat(" ", 5000) + "; rm -rf x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := term.NewApprover(&term.ApproverOptions{In: slowly(t, "a\nv\ns\na\n1\n"), Out: &out})
			r := listing()
			r.Approval.Args = message.JSON(`{"command":"` + command + `"}`)
			got, err := approves(t.Context(), a, r)
			require.NoError(t, err)
			assert.Equal(t, hook.ApprovalReply{Answer: hook.AnswerApprove, Remember: "call-conversation", By: "terminal"}, got)
			before, after, found := strings.Cut(out.String(), "rm -rf x")
			require.True(t, found)
			assert.Equal(t, 3, strings.Count(before, "Allow it? [y]es, [n]o, [e]dit, [s]how all: "))
			assert.Equal(t, 2, strings.Count(before, "Show all of it first, with s: only a call that was shown whole is remembered."))
			assert.NotContains(t, before, "from now on")
			assert.Contains(t, after, "Allow it? [y]es, [n]o, [a]lways, ne[v]er, [e]dit: ")
		})
	}
}

func TestAskShowsRemarksAndReach(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := term.NewApprover(&term.ApproverOptions{In: slowly(t, "n\n"), Out: &out})
	r := listing()
	r.Approval.Remarks = message.ListOf("command: 1 invisible character", "a\x1b[2J\nb")
	r.Approval.Reaches = message.ListOf("runs ls", "reads /etc/\u202e")
	_, err := approves(t.Context(), a, r)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "  $ ls\n  Careful:\n    command: 1 invisible character\n    a\\x1b[2J\\x0ab\n"+
		"  It reaches:\n    runs ls\n    reads /etc/\\u{202e}\nAllow it? ")
}
