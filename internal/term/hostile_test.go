package term_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen/screentest"
	"github.com/grapnel-go/grapnel/internal/term"
)

// fill sets every string that is reachable from v, also in unexported fields, to a
// hostile one that begins with its path, so that a new field is covered by itself.
func fill(v reflect.Value, path string, depth int) {
	if !v.CanSet() {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch {
	case depth > 12 || v.Type() == reflect.TypeFor[time.Time]():
		return
	case v.Type() == reflect.TypeFor[message.JSON]():
		v.SetString(arguments(path))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(path + screentest.Hostile())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), path+"."+v.Type().Field(i).Name, depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, depth+1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, depth+1)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(1)
	}
}

// arguments is an object with a hostile key and a hostile value.
func arguments(path string) string {
	hostile := func(s string) string {
		data, err := json.Marshal(s + strings.ToValidUTF8(screentest.Hostile(), ""))
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	return "{" + hostile(path+".key") + ":" + hostile(path+".value") + `,"x":1}`
}

// kinds are all kinds of event, as the package declares them.
func kinds(t *testing.T) []hook.EventKind {
	f, err := parser.ParseFile(token.NewFileSet(), "../../hook/event/event.go", nil, 0)
	require.NoError(t, err)
	var out []hook.EventKind
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.SelectorExpr); ok && typ.Sel.Name == "EventKind" {
				kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				out = append(out, hook.EventKind(kind))
			}
		}
		return true
	})
	require.Greater(t, len(out), 30)
	return out
}

// hostile are events of the kind in which every text is hostile, in the forms that
// an event can have.
func hostile(kind hook.EventKind) []hook.Event {
	var ev hook.Event
	var d hook.EventDetail
	var run hook.Run
	fill(reflect.ValueOf(&ev).Elem(), "Event", 0)
	fill(reflect.ValueOf(&d).Elem(), "Detail", 0)
	fill(reflect.ValueOf(&run).Elem(), "Run", 0)
	run.Visibility = event.VisibleUser
	out := []hook.Event{run.Event()}
	for _, depth := range []int{0, 1} {
		ev.Kind, ev.Depth = kind, depth
		out = append(out, ev.WithDetail(d), ev)
		refused := d
		refused.Answer, refused.Result = hook.AnswerApprove, message.TextResult("Result"+screentest.Hostile())
		refused.Outcome = message.OutcomeExecuted
		out = append(out, ev.WithDetail(refused))
		refused.Args = message.JSON("no JSON" + screentest.Hostile())
		out = append(out, ev.WithDetail(refused))
	}
	for i := range out {
		out[i].Kind = kind
	}
	return out
}

// TestNoFieldOfAnEventReachesTheTerminalRaw: whatever field of whatever event is
// hostile, what is written has only styles of this program, and no line begins with
// what a field said behind a line break.
func TestNoFieldOfAnEventReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			flows := kind == event.TextDelta || kind == event.ReasoningDelta
			for _, color := range []bool{false, true} {
				for _, onScreen := range []bool{false, true} {
					var out bytes.Buffer
					p := term.NewPrinter(&out, color).ShowHooks(event.VisibleInternal)
					if onScreen {
						p = p.ForScreen(func() int { return 60 })
					}
					for _, ev := range hostile(kind) {
						p.OnEvent(ev)
					}
					p.OnEvent(hook.Event{Kind: event.TextEnd})
					screentest.Check(t, out.String(), color, flows)
				}
			}
		})
	}
}

func TestNoOutcomeReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	var o hook.TurnOutcome
	fill(reflect.ValueOf(&o).Elem(), "Outcome", 0)
	for _, err := range []error{nil, errors.New("Err" + screentest.Hostile())} {
		for _, stop := range []hook.StopReason{hook.StopError, hook.StopCancelled, o.Stop} {
			o.Err, o.Stop = err, stop
			var out bytes.Buffer
			p := term.NewPrinter(&out, true)
			p.Outcome(o)
			p.Note("Note" + screentest.Hostile())
			p.Hint("Hint" + screentest.Hostile())
			p.Wrong("Wrong" + screentest.Hostile())
			screentest.Check(t, out.String(), true, false)
		}
	}
}

// TestNoQuestionReachesTheTerminalRaw: whoever decides sees every character, also
// those of emoji.
func TestNoQuestionReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"", "bash", "edit", "write"} {
		for _, args := range []message.JSON{"", message.JSON("no JSON" + screentest.Hostile()), message.JSON(`{"command":` + string(quoted("x"+screentest.Hostile())) + `}`)} {
			var r term.Request
			fill(reflect.ValueOf(&r).Elem(), "Request", 0)
			if tool != "" {
				r.Approval.Tool = tool
			}
			if args != "" {
				r.Approval.Args = args
			}
			var out bytes.Buffer
			a := term.NewApprover(&term.ApproverOptions{
				In: slowly(t, "s\na\n9\n\ne\nnone\n\nv\n\nn\n"), Out: &out, Root: t.TempDir(), Color: true,
			})
			_, _, err := a.Inquire(t.Context(), r)
			require.NoError(t, err)
			screentest.Check(t, out.String(), true, false)
			assert.NotContains(t, out.String(), "\ufe0f")
			assert.NotContains(t, out.String(), "\u200d")
			assert.NotContains(t, out.String(), "\u00a0")
		}
	}
	var q hook.Inquiry
	fill(reflect.ValueOf(&q).Elem(), "Inquiry", 0)
	q.Approval = nil
	var out bytes.Buffer
	a := term.NewApprover(&term.ApproverOptions{In: slowly(t, "9\n1\n"), Out: &out, Color: true})
	_, _, err := a.Inquire(t.Context(), term.Request{Agent: "Agent" + screentest.Hostile(), Inquiry: q})
	require.NoError(t, err)
	screentest.Check(t, out.String(), true, false)
	out.Reset()
	a = term.NewApprover(&term.ApproverOptions{In: slowly(t, "y\n"), Out: &out})
	_, err = a.Confirm(t.Context(), "Text\x1b]52;c;eA==\a\u202e", "Question"+screentest.Hostile())
	require.NoError(t, err)
	screentest.Check(t, out.String(), false, false)
}

func quoted(s string) []byte {
	data, _ := json.Marshal(strings.ToValidUTF8(s, ""))
	return data
}

// TestJSONKeepsTheTextAndShowsIt: a program reads the same text, and a terminal
// gets nothing that is unseen.
func TestJSONKeepsTheTextAndShowsIt(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		for _, ev := range hostile(kind) {
			var out bytes.Buffer
			term.NewJSONPrinter(&out).OnEvent(ev)
			screentest.Check(t, out.String(), false, true)
			assert.Equal(t, 1, strings.Count(out.String(), "\n"))
			var plain bytes.Buffer
			enc := json.NewEncoder(&plain)
			enc.SetEscapeHTML(false)
			require.NoError(t, enc.Encode(ev))
			var got, want any
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			require.NoError(t, json.Unmarshal(plain.Bytes(), &want))
			assert.Equal(t, want, got)
		}
	}
	assert.Regexp(t, regexp.MustCompile(`\\u202e`), func() string {
		var out bytes.Buffer
		term.NewJSONPrinter(&out).OnEvent(hook.Event{Kind: event.TextDelta, Text: "\u202e"})
		return out.String()
	}())
	assert.True(t, utf8.ValidString(screentest.Hostile()) == false, "one that is no UTF-8 is among them")
}
