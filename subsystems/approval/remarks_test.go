package approval_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// asked returns the request about a call.
func asked(t *testing.T, o approval.Options, call func(p *place) *hook.ToolCall) hook.ApprovalRequest {
	t.Helper()
	p := says(no)
	verdict(t, approval.New(&o), call(newPlace(p, "helper", "conv")))
	require.Len(t, p.asked, 1)
	return p.asked[0]
}

func TestRemarksNameWhatDoesNotShow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args any
		want []string
	}{
		"nothing":         {map[string]any{"command": "git status", "timeout": 9}, nil},
		"a command":       {map[string]any{"command": "ls \u200b\u200b\u202e"}, []string{`command: 1 character that turns the direction of text, such as \u{202e}`, `command: 2 invisible characters, such as \u{200b}`}},
		"a hidden text":   {map[string]any{"command": "ls\U000e0072\U000e006d"}, []string{`command: 2 tag characters, which hide text, such as \u{e0072}: "rm"`}},
		"out of sight":    {map[string]any{"command": "ls" + strings.Repeat(" ", 300) + "; rm -rf x"}, []string{"command: a line has text far to the right, behind blanks or tabs"}},
		"something deep":  {map[string]any{"to": []any{map[string]any{"name": "p\u0430ypal"}, "p\u0430ypal"}}, []string{`to: a word mixes letters of several scripts that look alike: p\u{430}ypal`}},
		"a name":          {map[string]any{"a\u200b": "x"}, []string{`the name "a\u200b": 1 invisible character, such as \u{200b}`}},
		"a name deep":     {map[string]any{"a": map[string]any{"b\u00a0": 1}}, []string{`a: 1 blank of an unusual kind, such as \u{a0}`}},
		"several of them": {map[string]any{"b": "x ", "a": "x\r"}, []string{`a: 1 carriage return, such as \x0d`, "b: a line ends with blanks"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := json.Marshal(tt.args)
			require.NoError(t, err)
			r := asked(t, approval.Options{}, calling(lookup, message.JSON(args)))
			assert.Equal(t, tt.want, r.Remarks.Slice())
			assert.Equal(t, message.JSON(args), r.Args)
		})
	}
	many := map[string]any{}
	for i := range 100 {
		many[strings.Repeat("a", i+1)] = "x "
	}
	args, err := json.Marshal(many)
	require.NoError(t, err)
	got := asked(t, approval.Options{}, calling(lookup, message.JSON(args))).Remarks.Slice()
	require.Len(t, got, 21)
	assert.Equal(t, "80 more remarks", got[20])
}

// TestNothingIsRememberedThatNobodyReads: a call that is too long is asked about each time, whatever
// could be remembered of a shorter one.
func TestNothingIsRememberedThatNobodyReads(t *testing.T) {
	t.Parallel()
	lasting := approval.Options{Store: approval.Dir(t.TempDir()), Project: t.TempDir()}
	long := strings.Repeat("x\\n", 32<<10)
	for name, call := range map[string]func(p *place) *hook.ToolCall{
		"a command": calling(bash, message.JSON(`{"command":"`+long+`"}`)),
		"a file":    calling(write, message.JSON(`{"content":"`+long+`","file_path":"a/b"}`)),
		"a search":  calling(lookup, message.JSON(`{"q":"`+long+`"}`)),
	} {
		r := asked(t, lasting, call)
		assert.Zero(t, r.Offers.Len(), name)
		assert.Contains(t, r.Remarks.At(0), "which nobody reads whole: the answer counts for this call only", name)
		a, p := approval.New(&lasting), says(remembering(yes, "call-conversation"))
		_, err := a.Approve(t.Context(), call(newPlace(p, "helper", "conv")), because)
		assert.ErrorContains(t, err, `remember is "call-conversation", which is none of the offers of this ask: there are none`, name)
	}
}

func TestWhatIsExaminedIsInTheRequest(t *testing.T) {
	t.Parallel()
	examine := func(part string) approval.Options {
		return approval.Options{Examine: func(call *hook.ToolCall) approval.Examined {
			return approval.Examined{Reaches: []string{"it runs " + call.Name()}, Part: part}
		}}
	}
	for part, want := range map[string]string{"ls": "", "": "", "rm \"x\"": "rm \"x\""} {
		p := says(no)
		a := approval.New(new(examine(part)))
		_, err := a.Approve(t.Context(), newPlace(p, "helper", "conv").call(bash, `{"command":"ls && rm \"x\""}`), hook.AskTool(`rm deletes files ("rm \"x\"")`))
		require.NoError(t, err)
		assert.Equal(t, want, p.asked[0].Part)
		assert.Equal(t, []string{"it runs bash"}, p.asked[0].Reaches.Slice())
	}
}
