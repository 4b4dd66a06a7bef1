package script_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request builds a conversation: user messages as they are, "> text" an answer,
// "! tool text" a result and "!! tool text" a failed one.
func request(lines ...string) message.ModelRequest {
	var ms []message.Message
	for _, l := range lines {
		if text, ok := strings.CutPrefix(l, "> "); ok {
			ms = append(ms, message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(text))})
			continue
		}
		if rest, ok := strings.CutPrefix(l, "!"); ok {
			rest, failed := strings.CutPrefix(rest, "!")
			tool, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
			m := message.Message{Role: message.RoleTool, Tool: tool, CallID: "c", Result: message.TextResult(text)}
			if failed {
				m.Result.Failure = message.FailOperation
			}
			ms = append(ms, m)
			continue
		}
		ms = append(ms, message.UserText(l))
	}
	return message.ModelRequest{Messages: message.MessagesOf(ms...)}
}

func collect(t *testing.T, s *script.Script, req message.ModelRequest) message.ModelReply {
	t.Helper()
	reply, err := provider.Collect(s.Stream(t.Context(), req))
	require.NoError(t, err)
	return reply
}

func parse(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	require.NoError(t, err)
	return s
}

const choosing = `
rules:
  - {when: {result: {tool: read, failed: true}}, say: read failed}
  - {when: {result: [{tool: read, contains: alpha}, glob]}, say: both}
  - {when: {result: {matches: '^\d+$'}}, say: a number}
  - {when: {user: {equals: exactly}}, say: equals}
  - {when: {user: {matches: '(?i)^HELLO\b'}}, say: matches}
  - {when: {user: needle}, say: contains}
  - {when: {system: be kind}, say: system}
  - {when: {context: {matches: 'thread'}, user: straw}, say: context}
  - {when: {model: {equals: m-1}}, say: model}
  - {when: {tools: [a, b], no_tools: [c]}, say: tools}
  - {when: {turn: 2, step: 2}, say: turn 2 step 2}
  - {when: {turn: 3}, say: turn 3}
  - {when: {call: 5}, say: call 5}
  - {say: first}
  - {say: second}
  - {when: always, say: else}
`

func TestTheFirstRuleThatFitsAnswers(t *testing.T) {
	t.Parallel()
	s := parse(t, choosing)
	with := func(req message.ModelRequest, change func(*message.ModelRequest)) message.ModelRequest {
		change(&req)
		return req
	}
	tools := func(names ...string) func(*message.ModelRequest) {
		return func(r *message.ModelRequest) {
			var ts []message.Tool
			for _, n := range names {
				ts = append(ts, message.Tool{Name: n})
			}
			r.Tools = message.NewToolSet(ts)
		}
	}
	feedback := message.UserText("needle")
	feedback.Label = "feedback"
	thread := message.UserText("a thread")
	thread.Label = "context"
	for _, tc := range []struct {
		want string
		req  message.ModelRequest
	}{
		{"read failed", request("x", "> call", "!! read no such file")},
		{"both", request("x", "> call", "! read alpha", "! glob y")},
		{"else", request("a", "> b", "c", "> d", "! read alpha", "> e", "! other z")},
		{"a number", request("x", "> call", "! count 12")},
		{"equals", request("exactly")},
		{"matches", request("hello there")},
		{"contains", request("hay needle hay")},
		{"first", request("no Needle here")},
		{"system", with(request("x"), func(r *message.ModelRequest) { r.System = "Please be kind." })},
		{"model", with(request("x"), func(r *message.ModelRequest) { r.Model.Name = "m-1" })},
		{"tools", with(request("x"), tools("b", "a"))},
		{"first", with(request("x"), tools("a"))},
		{"first", with(request("x"), tools("a", "b", "c"))},
		{"turn 2 step 2", request("x", "> y", "z", "> w", "! t u")},
		{"turn 3", request("x", "> y", "z", "> w", "v")},
		{"call 5", request("x", "> 1", "> 2", "y", "> 3", "> 4")},
		{"second", request("x", "> y", "results of earlier turns do not count")},
		{"first", with(request("x"), func(r *message.ModelRequest) { r.Messages = r.Messages.Append(feedback) })},
		{"context", with(request("straw"), func(r *message.ModelRequest) { r.Messages = r.Messages.Append(thread) })},
		{"first", request("straw thread")},
		{"first", request()},
	} {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, collect(t, s, tc.req).Text())
		})
	}
}

func TestAnswersQuoteWhatWasRead(t *testing.T) {
	t.Parallel()
	s := parse(t, `
rules:
  - when: {user: {matches: 'remember (?P<what>.+) as (\w+)'}, step: 1}
    reason: they want ${2}
    say: "Will do: ${1}. $${no} $5"
    calls:
      - {tool: remember, args: {name: "${2}", content: "${what}", list: [1, 1.50, 0x10, true, null, "${what}"]}}
      - {tool: bash, id: own, raw: '{"command":"ls","Command":"${1}"'}
  - when: {result: {tool: recall, matches: '## (?P<title>\w+)'}, user: {matches: 'about (?P<topic>\w+)'}}
    say: "${user} | ${title} | ${topic} | ${result} | ${result:recall}"
`)
	reply := collect(t, s, request(`remember the "red" <key> as note`))
	assert.Equal(t, "they want note", reply.Reasoning())
	assert.Equal(t, `Will do: the "red" <key>. ${no} $5`, reply.Text())
	assert.Equal(t, message.FinishTools, reply.Finish)
	var calls []message.Block
	for _, c := range reply.Calls() {
		calls = append(calls, c)
	}
	assert.Equal(t, []message.Block{
		{Kind: message.BlockToolCall, CallID: "call_1_0", Tool: "remember",
			JSON: `{"name":"note","content":"the \"red\" <key>","list":[1,1.50,16,true,null,"the \"red\" <key>"]}`},
		{Kind: message.BlockToolCall, CallID: "own", Tool: "bash", JSON: `{"command":"ls","Command":"${1}"`},
	}, calls)

	reply = collect(t, s, request("what about keys", "> c", "! recall ## old", "! recall ## new", "! other x"))
	assert.Equal(t, "what about keys | new | keys | x | ## new", reply.Text())
	assert.Equal(t, message.FinishStop, reply.Finish)
}

func TestStreamsAreSmallDeltas(t *testing.T) {
	t.Parallel()
	pieces := func(r script.Rule) (out []string) {
		for c, err := range script.New(r).Stream(t.Context(), request("x")) {
			require.NoError(t, err)
			if c.Text != "" {
				out = append(out, c.Text)
			}
		}
		return out
	}
	assert.Equal(t, []string{"two ", "words\n\n", "ünd mehr"[:len("ünd ")], "mehr"}, pieces(script.Rule{Say: "two words\n\nünd mehr"}))
	assert.Equal(t, []string{"aü", "ü", "€", "b"}, pieces(script.Rule{Say: "aüü€b", Pace: script.Pace{Bytes: 2}}))
	assert.Equal(t, []string{`{"a"`, `:1}`}, pieces(script.Rule{
		Calls: []script.Call{{Tool: "t", Args: `{"a":1}`}}, Pace: script.Pace{Bytes: 4}}))
}

func TestEndings(t *testing.T) {
	t.Parallel()
	s := parse(t, `
rules:
  - {when: {user: cut}, say: half an ans, finish: none}
  - {when: {user: long}, say: half an ans, finish: length}
  - {when: {user: error}, say: half an ans, error: the model is overloaded}
  - {when: {user: nothing}, finish: stop}
  - {when: {user: usage}, say: x, usage: {input: 7, output: 2, cache_read: 3}}
`)
	reply, err := provider.Collect(s.Stream(t.Context(), request("cut")))
	require.ErrorIs(t, err, provider.ErrNoFinish)
	assert.Equal(t, "half an ans", reply.Text())
	assert.Equal(t, message.FinishLength, collect(t, s, request("long")).Finish)
	reply, err = provider.Collect(s.Stream(t.Context(), request("error")))
	require.EqualError(t, err, "the model is overloaded")
	assert.Equal(t, "half an ans", reply.Text())
	assert.Equal(t, message.ModelReply{Finish: message.FinishStop, Usage: message.Usage{Input: 2}}, collect(t, s, request("nothing")))
	assert.Equal(t, message.Usage{Input: 7, Output: 2, CacheRead: 3}, collect(t, s, request("usage")).Usage)
	assert.Equal(t, message.Usage{Input: 3, Output: 1}, collect(t, script.New(script.Rule{Say: "1234"}), request("123456789")).Usage)
}

func TestFailuresHaveTheirClass(t *testing.T) {
	t.Parallel()
	s := parse(t, `
rules:
  - {when: {user: busy}, say: half, error: {text: come back later, class: overloaded, retry_after: 2s}}
  - {when: {user: gone}, error: {class: network}}
  - {when: {user: odd}, error: odd}
  - {when: {user: bad}, error: {class: content}}
`)
	for _, tc := range []struct {
		line, text string
		class      message.FailureClass
		after      time.Duration
	}{
		{"busy", "come back later", message.FailureOverloaded, 2 * time.Second},
		{"gone", "the model failed", message.FailureNetwork, 0},
		{"odd", "odd", message.FailureUnknown, 0},
		{"bad", "the model failed", message.FailureContent, 0},
	} {
		_, err := provider.Collect(s.Stream(t.Context(), request(tc.line)))
		require.EqualError(t, err, tc.text)
		class, after := provider.Classify(err)
		assert.Equal(t, tc.class, class)
		assert.Equal(t, tc.after, after)
	}
}

func TestNoRuleSaysWhy(t *testing.T) {
	t.Parallel()
	s := parse(t, `
rules:
  - {name: greeting, when: {user: hello, step: 1}, say: hi}
  - {when: {result: {tool: recall, failed: false, contains: x}}, say: hi}
  - {when: {tools: [recall, bash]}, say: hi}
  - {say: one}
`)
	_, err := provider.Collect(s.Stream(t.Context(), request("a", "> b", "c")))
	require.ErrorIs(t, err, script.ErrNoRule)
	assert.EqualError(t, err, `test.yaml: no rule answers this request: turn 2, step 1, the user said "c"
  line 3 (greeting): the user's message does not contain "hello"
  line 4: this turn has no successful result of recall; or it does not contain "x"
  line 5: not all of these tools are offered: recall, bash
  line 6: it is for model call 1, this is 2
add a rule, or one with `+"`when: always`"+` at the end`)

	_, err = provider.Collect(parse(t, `rules: [{say: "${result:recall}"}]`).Stream(t.Context(), request("a")))
	assert.EqualError(t, err, "script: line 1: ${result:recall}: there is no such result in this turn")
}

func TestMistakesAreNamedWithTheirLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, file, want string }{
		{"empty", "", "f: is empty; a script has a list `rules:`"},
		{"format", "format: yes please\nrules:\n  - say: a", "f:1: format must be true, for a model with a response format of its own, or false"},
		{"no mapping", "- a", "f:1: a script must be a mapping with the keys rules, pace, format, context_window"},
		{"no rules", "pace: 1ms", "f:1: `rules:` is missing; a script is a list of rules"},
		{"rules no list", "rules: {}", "f:1: rules must be a list with at least one rule"},
		{"not yaml", "rules:\n\t- x", "f:2: the script is no YAML: found character that cannot start any token; put a value that holds `: ` or begins with a special character in quotes"},
		{"two documents", "rules: [{say: a}]\n---\nrules: [{say: a}]", "f:2: the script has a second document; take the --- out"},
		{"unknown key", "rules:\n- say: a\n  sya: b", "f:3: a rule has no key \"sya\"; known are name, when, reason, say, calls, finish, usage, error, pace"},
		{"twice", "rules:\n- say: a\n  say: b", "f:3: say is given twice; take one out"},
		{"nothing", "rules:\n- when: always", "f:2: the rule answers nothing; write say, reason, calls or error, or finish: stop for an empty answer"},
		{"null", "rules:\n- say:", "f:2: say must be a text"},
		{"finish", "rules:\n- finish: done", "f:2: finish: unknown finish \"done\"; write one of stop, tool_calls, length, content_filter, other, none"},
		{"finish and error", "rules:\n- error: a\n  finish: stop", "f:3: finish: a stream ends with an error or with a finish; leave one of them out"},
		{"when", "rules:\n- say: a\n  when: sometimes", "f:3: when must be a mapping of conditions or `always`; leave it out for the next rule in order"},
		{"expression", "rules:\n- say: a\n  when:\n    user: {matches: '('}", "f:4: when.user: error parsing regexp: missing closing ): `(`; mend the expression"},
		{"empty condition", "rules:\n- say: a\n  when: {user: ''}", "f:3: user is empty; leave it out"},
		{"step", "rules:\n- say: a\n  when: {step: 0}", "f:3: step counts from 1"},
		{"turn", "rules:\n- say: a\n  when: {turn: two}", "f:3: turn must be a whole number, 0 or more"},
		{"failed", "rules:\n- say: a\n  when: {result: {failed: perhaps}}", "f:3: failed must be true or false"},
		{"group", "rules:\n- say: ${1}", "f:2: say: ${1} needs a `matches` in the rule's when"},
		{"group of two", "rules:\n- say: ${1}\n  when: {user: {matches: a(.)}, system: {matches: b(.)}}", "f:2: say: ${1} could be of 2 expressions; name the group, (?P<name>…), and write ${name}"},
		{"high group", "rules:\n- say: ${2}\n  when: {user: {matches: a(.)}}", "f:2: say: ${2}: \"a(.)\" has 1 groups"},
		{"open reference", "rules:\n- say: a ${b", "f:2: say: ${ without }; write $${ for a plain ${"},
		{"reference", "rules:\n- calls:\n  - tool: x\n    args:\n      a: ${b}", "f:5: calls[0].args: ${b} refers to nothing; known are ${user}, ${result}, ${result:TOOL} and the groups of the rule's expressions (none has a name)"},
		{"no tool", "rules:\n- calls:\n  - args: {}", "f:3: calls[0].tool: is missing; name the tool to call"},
		{"calls", "rules:\n- calls: {tool: x}", "f:2: calls must be a list: `- {tool: NAME, args: {…}}`"},
		{"args and raw", "rules:\n- calls:\n  - {tool: x, raw: y, args: {}}", "f:3: calls[0].raw: stands beside args; leave one of them out"},
		{"args twice", "rules:\n- calls:\n  - {tool: x, args: {a: 1, a: 2}}", "f:3: a is given twice; arguments that shall be malformed go into raw"},
		{"alias", "rules:\n- say: &a x\n  calls:\n  - {tool: x, args: *a}", "f:2: the script has an anchor or an alias, which is not read here; write the value out"},
		{"infinity", "rules:\n- calls: [{tool: x, args: {a: .inf}}]", "f:2: .inf is no number that JSON can write; quote it if it is a text"},
		{"pace", "rules:\n- say: a\n  pace: 20", "f:3: pace must be a duration such as 20ms or 1s"},
		{"usage", "rules:\n- say: a\n  usage: {input: -1}", "f:3: input must be a whole number, 0 or more"},
		{"error class", "rules:\n- error: {class: broken}", "f:2: class: unknown class \"broken\"; write one of rate_limit, overloaded, server, timeout, network, context_length, auth, request, content, protocol, too_large, unknown"},
		{"error key", "rules:\n- error: {kind: network}", "f:2: error has no key \"kind\"; known are text, class, retry_after"},
		{"error pause", "rules:\n- error: {retry_after: 2}", "f:2: retry_after must be a duration such as 20ms or 1s"},
		{"all at once", "rules:\n- saay: a\n- say: ${x}\n- {say: a, when: {stop: 1}}",
			"f:2: a rule has no key \"saay\"; known are name, when, reason, say, calls, finish, usage, error, pace\n" +
				"f:3: say: ${x} refers to nothing; known are ${user}, ${result}, ${result:TOOL} and the groups of the rule's expressions (none has a name)\n" +
				"f:4: when has no key \"stop\"; known are user, system, context, model, result, tools, no_tools, turn, step, call"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := script.Parse("f", []byte(tc.file))
			require.EqualError(t, err, tc.want)
			assert.Nil(t, s)
			var one *script.Error
			require.ErrorAs(t, err, &one)
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.yaml")
	_, err := script.Load(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("rules:\n- say: hello\n"), 0o600))
	s, err := script.Load(file)
	require.NoError(t, err)
	assert.Equal(t, "hello", collect(t, s, request("x")).Text())
}

func TestNewPanicsOverAWrongRule(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "script: rule 2 (b): say: ${1} needs a `matches` in the rule's when", func() {
		script.New(script.Rule{Say: "a"}, script.Rule{Name: "b", Say: "${1}"})
	})
}

func TestAStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := script.New(script.Rule{Say: "one two three"})
	var seen []string
	var last error
	for c, err := range s.Stream(ctx, request("x")) {
		seen, last = append(seen, c.Text), err
		cancel(errors.New("enough"))
	}
	assert.Equal(t, []string{"one ", ""}, seen)
	assert.ErrorIs(t, last, context.Canceled)
}

func TestTheConsumerMayStopAnywhere(t *testing.T) {
	t.Parallel()
	s := script.New(script.Rule{Reason: "a b", Say: "c d", Calls: []script.Call{{Tool: "t"}}})
	for stop := 1; stop <= 8; stop++ {
		n := 0
		for range s.Stream(t.Context(), request("x")) {
			if n++; n == stop {
				break
			}
		}
		assert.Equal(t, stop, n)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	s := parse(t, `
pace: 10ms
rules:
  - {when: {user: slow}, say: a b c, pace: {wait: 1s, delta: 100ms}}
  - {when: always, say: a b c}
`)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		collect(t, s, request("slow"))
		assert.Equal(t, 1200*time.Millisecond, time.Since(began))
		began = time.Now()
		collect(t, s, request("x"))
		assert.Equal(t, 20*time.Millisecond, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
		defer cancel()
		began = time.Now()
		reply, err := provider.Collect(s.Stream(ctx, request("slow")))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "a ", reply.Text())
		assert.Equal(t, 1050*time.Millisecond, time.Since(began))
	})
}

func TestAPlainRuleCostsNextToNothing(t *testing.T) {
	s := script.New(
		script.Rule{When: &script.When{User: script.Text{Contains: "go"}, Step: 1},
			Calls: []script.Call{{Tool: "t", ID: "c"}}, Usage: &message.Usage{}},
		script.Rule{When: &script.When{}, Say: "done", Usage: &message.Usage{}})
	req := request("go", "> call", "! t ok")
	ctx := t.Context()
	allocs := allocs.PerRun(100, func() {
		for _, err := range s.Stream(ctx, req) {
			if err != nil {
				panic(err)
			}
		}
	})
	assert.LessOrEqual(t, allocs, 3.0)
}

func BenchmarkPlainRule(b *testing.B) {
	s := script.New(script.Rule{When: &script.When{}, Say: "done", Usage: &message.Usage{}})
	req := request("go")
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
