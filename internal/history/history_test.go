package history_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
)

const lost = "interrupted: no result of this call was kept; its outcome is not known"

func TestValidHistoriesAreLeftAlone(t *testing.T) {
	t.Parallel()
	image := message.Message{Role: message.RoleUser, Content: message.ListOf(message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "aGk="})}
	note := user("feedback")
	note.Label, note.Ephemeral = "feedback", true
	for name, in := range map[string][]message.Message{
		"nothing":                    nil,
		"one message":                {user("hi")},
		"an image":                   {image},
		"a conversation":             {user("hi"), says(text("hello")), user("bye")},
		"two users in a row":         {user("hi"), user("there")},
		"two answers in a row":       {user("hi"), says(text("a")), says(text("b"))},
		"a call":                     {user("hi"), says(call("1", "read", "{}")), result("1", "read", "x"), says(text("done"))},
		"three calls at once":        {user("hi"), says(text("I look"), call("1", "a", "{}"), call("2", "b", "{}"), call("3", "a", "{}")), result("1", "a", "x"), result("2", "b", "y"), cancelled("3", "a")},
		"text behind a call":         {user("hi"), says(reasoning("hm"), call("1", "a", "{}"), text("now wait")), result("1", "a", "x")},
		"a note behind a result":     {user("hi"), says(call("1", "a", "{}")), result("1", "a", "x"), note, says(text("ok"))},
		"an empty result":            {user("hi"), says(call("1", "a", "{}")), {Role: message.RoleTool, CallID: "1", Tool: "a"}},
		"arguments not in one line":  {user("hi"), says(call("1", "a", " {\n \"p\": 1 }\n")), result("1", "a", "x")},
		"an escaped emoji":           {user("hi"), says(call("1", "a", `{"p":"\ud83d\ude00"}`)), result("1", "a", "x")},
		"an escaped backslash":       {user("hi"), says(call("1", "a", `{"p":"\\ud800"}`)), result("1", "a", "x")},
		"the longest id":             {user("hi"), says(call(strings.Repeat("x", 40), "a", `{}`)), result(strings.Repeat("x", 40), "a", "x")},
		"the longest name of a tool": {user("hi"), says(call("1", strings.Repeat("x", 64), `{}`)), result("1", strings.Repeat("x", 64), "x")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := repairsHere(t, in)
			assert.Empty(t, problems)
		})
	}
}

// damage is a damaged history, what becomes of it, and what is said about it.
type damage struct {
	name     string
	in       []message.Message
	want     []string
	problems []string
}

// damages has one history for each thing that goes wrong with histories.
func damages() []damage {
	u := user("hi")
	long := strings.Repeat("x", 41)
	function := result("1", "a", "x")
	function.Role = "function"
	nameless := result("1", "a", "x")
	nameless.Role = ""
	inContent := message.Message{Role: message.RoleTool, CallID: "1", Tool: "a", Content: message.ListOf(text("x"))}
	inBoth := result("1", "a", "x")
	inBoth.Content = message.ListOf(text("?"))
	return []damage{
		{"the program ended before the results were stored",
			[]message.Message{u, says(call("1", "a", "{}"), call("2", "b", "{}"))},
			[]string{"user hi", `assistant ["1" a {}] ["2" b {}]`, `tool "1" a cancelled: ` + lost, `tool "2" b cancelled: ` + lost},
			[]string{"1 result_missing", "1 result_missing"}},
		{"one result of three is lost",
			[]message.Message{u, says(call("1", "a", "{}"), call("2", "b", "{}"), call("3", "c", "{}")), result("1", "a", "x"), result("3", "c", "z"), says(text("ok"))},
			[]string{"user hi", `assistant ["1" a {}] ["2" b {}] ["3" c {}]`, `tool "1" a: x`, `tool "2" b cancelled: ` + lost, `tool "3" c: z`, "assistant ok"},
			[]string{"1 result_missing"}},
		{"a result without its call",
			[]message.Message{u, says(text("ok")), result("1", "a", "x"), user("go on")},
			[]string{"user hi", "assistant ok", "user go on"},
			[]string{"2 result_orphan"}},
		{"a result without its call in the middle of others",
			[]message.Message{u, says(call("1", "a", "{}"), call("2", "a", "{}")), result("1", "a", "x"), result("9", "a", "?"), result("2", "a", "y")},
			[]string{"user hi", `assistant ["1" a {}] ["2" a {}]`, `tool "1" a: x`, `tool "2" a: y`},
			[]string{"3 result_orphan"}},
		{"the same result twice",
			[]message.Message{u, says(call("1", "a", "{}")), result("1", "a", "x"), result("1", "a", "x again")},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`},
			[]string{"3 result_duplicate"}},
		{"the same result again, much later",
			[]message.Message{u, says(call("1", "a", "{}")), result("1", "a", "x"), says(text("ok")), user("more"), result("1", "a", "x again")},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`, "assistant ok", "user more"},
			[]string{"5 result_duplicate"}},
		{"the same result again, and a later call has the id and no result",
			[]message.Message{u, says(call("1", "a", "{}")), result("1", "a", "x"), says(call("2", "a", "{}")), result("2", "a", "y"), result("1", "a", "x again"), says(call("1", "a", "{}"))},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`, `assistant ["2" a {}]`, `tool "2" a: y`, `assistant ["call_repaired_3" a {}]`, `tool "call_repaired_3" a cancelled: ` + lost},
			[]string{"5 result_duplicate", "6 call_id_repeated", "6 result_missing"}},
		{"the result comes after the call was given up",
			[]message.Message{u, says(call("1", "a", "{}")), cancelled("1", "a"), user("well?"), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`, "user well?"},
			[]string{"2 result_duplicate", "4 result_misplaced"}},
		{"the result comes after two calls with its id were given up",
			[]message.Message{u, says(call("1", "a", "{}")), cancelled("1", "a"), says(call("1", "a", "{}")), cancelled("1", "a"), says(call("2", "b", "{}")), result("2", "b", "y"), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a cancelled: cancelled`, `assistant ["call_repaired_2" a {}]`, `tool "call_repaired_2" a: x`, `assistant ["2" b {}]`, `tool "2" b: y`},
			[]string{"3 call_id_repeated", "4 result_duplicate", "7 result_misplaced"}},
		{"the results are in the wrong order",
			[]message.Message{u, says(call("1", "a", "{}"), call("2", "b", "{}")), result("2", "b", "y"), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {}] ["2" b {}]`, `tool "1" a: x`, `tool "2" b: y`},
			[]string{"2 result_misplaced"}},
		{"a user speaks between a call and its result",
			[]message.Message{u, says(call("1", "a", "{}")), user("hurry"), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`, "user hurry"},
			[]string{"3 result_misplaced"}},
		{"a result comes after the next call",
			[]message.Message{u, says(call("1", "a", "{}")), says(call("2", "b", "{}")), result("2", "b", "y"), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`, `assistant ["2" b {}]`, `tool "2" b: y`},
			[]string{"4 result_misplaced"}},
		{"a result stands before its call",
			[]message.Message{u, result("1", "a", "x"), says(call("1", "a", "{}"))},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`},
			[]string{"1 result_misplaced"}},
		{"a call without an id",
			[]message.Message{u, says(call("", "a", "{}")), result("", "a", "x")},
			[]string{"user hi", `assistant ["call_repaired_1" a {}]`, `tool "call_repaired_1" a: x`},
			[]string{"1 call_id_empty"}},
		{"a call without an id, and another has the one it would get",
			[]message.Message{u, says(call("call_repaired_2", "a", "{}"), call("", "a", "{}")), result("call_repaired_2", "a", "x"), result("", "a", "y")},
			[]string{"user hi", `assistant ["call_repaired_2" a {}] ["call_repaired_3" a {}]`, `tool "call_repaired_2" a: x`, `tool "call_repaired_3" a: y`},
			[]string{"1 call_id_empty"}},
		{"two calls without an id, answered by place",
			[]message.Message{u, says(call("", "a", `{"n":1}`), call("", "a", `{"n":2}`)), result("", "a", "x"), result("", "a", "y")},
			[]string{"user hi", `assistant ["call_repaired_1" a {"n":1}] ["call_repaired_2" a {"n":2}]`, `tool "call_repaired_1" a: x`, `tool "call_repaired_2" a: y`},
			[]string{"1 call_id_empty", "1 call_id_empty"}},
		{"two calls without an id, answered by tool",
			[]message.Message{u, says(call("", "a", "{}"), call("", "b", "{}")), result("", "b", "y"), result("", "a", "x")},
			[]string{"user hi", `assistant ["call_repaired_1" a {}] ["call_repaired_2" b {}]`, `tool "call_repaired_1" a: x`, `tool "call_repaired_2" b: y`},
			[]string{"1 call_id_empty", "1 call_id_empty", "2 result_misplaced"}},
		{"only the result has lost its id",
			[]message.Message{u, says(call("1", "a", "{}"), call("2", "a", "{}")), result("", "a", "x"), result("2", "a", "y")},
			[]string{"user hi", `assistant ["1" a {}] ["2" a {}]`, `tool "1" a: x`, `tool "2" a: y`},
			[]string{"2 result_id"}},
		{"only the call has lost its id",
			[]message.Message{u, says(call("", "a", "{}")), result("7", "a", "x")},
			[]string{"user hi", `assistant ["call_repaired_1" a {}]`, `tool "call_repaired_1" a: x`},
			[]string{"1 call_id_empty", "2 result_id"}},
		{"both calls of a message have the same id",
			[]message.Message{u, says(call("1", "a", `{"n":1}`), call("1", "a", `{"n":2}`)), result("1", "a", "x"), result("1", "a", "y")},
			[]string{"user hi", `assistant ["1" a {"n":1}] ["call_repaired_2" a {"n":2}]`, `tool "1" a: x`, `tool "call_repaired_2" a: y`},
			[]string{"1 call_id_repeated"}},
		{"both calls of a message have the same id, and the results are in the wrong order",
			[]message.Message{u, says(call("1", "a", "{}"), call("1", "b", "{}")), result("1", "b", "y"), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {}] ["call_repaired_2" b {}]`, `tool "1" a: x`, `tool "call_repaired_2" b: y`},
			[]string{"1 call_id_repeated", "2 result_misplaced"}},
		{"a model counts its calls from zero in every answer",
			[]message.Message{u, says(call("0", "a", "{}")), result("0", "a", "x"), says(call("0", "b", "{}")), result("0", "b", "y"), says(call("0", "a", "{}"))},
			[]string{"user hi", `assistant ["0" a {}]`, `tool "0" a: x`, `assistant ["call_repaired_2" b {}]`, `tool "call_repaired_2" b: y`, `assistant ["call_repaired_3" a {}]`, `tool "call_repaired_3" a cancelled: ` + lost},
			[]string{"3 call_id_repeated", "5 call_id_repeated", "5 result_missing"}},
		{"an id with characters that Anthropic refuses",
			[]message.Message{u, says(call("functions.a:0", "a", "{}")), result("functions.a:0", "a", "x")},
			[]string{"user hi", `assistant ["call_repaired_1" a {}]`, `tool "call_repaired_1" a: x`},
			[]string{"1 call_id_unusable"}},
		{"an id that is too long for OpenAI",
			[]message.Message{u, says(call(long, "a", "{}")), result(long, "a", "x")},
			[]string{"user hi", `assistant ["call_repaired_1" a {}]`, `tool "call_repaired_1" a: x`},
			[]string{"1 call_id_unusable"}},
		{"a made-up tool name",
			[]message.Message{u, says(call("1", "a.b: c", "{}"), call("2", "", "{}")), result("1", "a.b: c", "no such tool"), result("2", "", "no such tool")},
			[]string{"user hi", `assistant ["1" a_b__c {}] ["2" unnamed {}]`, `tool "1" a_b__c: no such tool`, `tool "2" unnamed: no such tool`},
			[]string{"1 call_tool", "1 call_tool"}},
		{"arguments that were cut off",
			[]message.Message{u, says(call("1", "a", `{"p":"x`)), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {"unparsed_arguments":"{\"p\":\"x"}]`, `tool "1" a: x`},
			[]string{"1 call_arguments"}},
		{"arguments that are a list, none at all, or null",
			[]message.Message{u, says(call("1", "a", "[1]"), call("2", "a", ""), call("3", "a", "null")), result("1", "a", "x"), result("2", "a", "y"), result("3", "a", "z")},
			[]string{"user hi", `assistant ["1" a {"unparsed_arguments":"[1]"}] ["2" a {}] ["3" a {}]`, `tool "1" a: x`, `tool "2" a: y`, `tool "3" a: z`},
			[]string{"1 call_arguments", "1 call_arguments", "1 call_arguments"}},
		{"arguments with half an emoji",
			[]message.Message{u, says(call("1", "a", `{"p":"\ud83d"}`)), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {"unparsed_arguments":"{\"p\":\"\\ud83d\"}"}]`, `tool "1" a: x`},
			[]string{"1 call_arguments"}},
		{"arguments with bytes that are no text",
			[]message.Message{u, says(call("1", "a", "{\"p\":\"\xff\"}")), result("1", "a", "x")},
			[]string{"user hi", `assistant ["1" a {"p":"` + "\uFFFD" + `"}]`, `tool "1" a: x`},
			[]string{"1 call_arguments"}},
		{"a result that names another tool",
			[]message.Message{u, says(call("1", "a", "{}")), result("1", "", "x")},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`},
			[]string{"2 result_tool"}},
		{"a result in the wrong field",
			[]message.Message{u, says(call("1", "a", "{}")), inContent},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`},
			[]string{"2 result_content"}},
		{"a result in both fields",
			[]message.Message{u, says(call("1", "a", "{}")), inBoth},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`},
			[]string{"2 result_content"}},
		{"an empty answer",
			[]message.Message{u, says(), says(text("")), says(text(" \n")), says(reasoning("hm")), says(text("ok"))},
			[]string{"user hi", "assistant ok"},
			[]string{"1 message_empty", "2 message_empty", "3 message_empty", "4 message_empty"}},
		{"an empty question",
			[]message.Message{u, user(" "), says(text("ok"))},
			[]string{"user hi", "assistant ok"},
			[]string{"1 message_empty"}},
		{"a user who calls a tool",
			[]message.Message{{Role: message.RoleUser, Content: message.ListOf(text("hi"), call("1", "a", "{}"))}, result("1", "a", "x")},
			[]string{"user hi"},
			[]string{"0 call_by_user", "1 result_orphan"}},
		{"the beginning is lost",
			[]message.Message{says(text("ok")), u},
			[]string{"user (The beginning of this conversation is not kept.)", "assistant ok", "user hi"},
			[]string{"0 start_missing"}},
		{"nothing but a result",
			[]message.Message{result("1", "a", "x")}, nil, []string{"0 result_orphan"}},
		{"roles of other programs",
			[]message.Message{{Role: "human", Content: u.Content}, {Role: "model", Content: message.ListOf(call("1", "a", "{}"))}, function, {Role: "AI", Content: message.ListOf(text("ok"))}, {Role: "system", Content: message.ListOf(text("be brief"))}},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`, "assistant ok", "user be brief"},
			[]string{"0 role_unknown", "1 role_unknown", "2 role_unknown", "3 role_unknown", "4 role_unknown"}},
		{"no roles",
			[]message.Message{{Content: u.Content}, {Content: message.ListOf(call("1", "a", "{}"))}, nameless},
			[]string{"user hi", `assistant ["1" a {}]`, `tool "1" a: x`},
			[]string{"0 role_unknown", "1 role_unknown", "2 role_unknown"}},
	}
}

func TestEveryDamageIsMendedAndNamed(t *testing.T) {
	t.Parallel()
	seen := map[history.Code]bool{}
	for _, d := range damages() {
		for _, p := range history.Check(d.in) {
			seen[p.Code] = true
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			got, problems := repairsHere(t, d.in)
			assert.Equal(t, d.want, lines(got))
			assert.Equal(t, d.problems, codes(problems))
		})
	}
	assert.Len(t, seen, 16, "a code that no damage has: %v", seen)
}

func TestProblemsQuoteNothing(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	in := []message.Message{
		{Role: secret, Content: message.ListOf(text(secret))},
		says(call(secret+"!", secret+"!", secret), call(secret+"!", secret, "{}")), result(secret, secret, secret), result(secret+"!", "", secret),
	}
	_, problems := repairsHere(t, in)
	assert.Greater(t, len(problems), 5)
	for _, p := range problems {
		assert.NotContains(t, p.String(), secret)
	}
}

func TestProblemsAreSentences(t *testing.T) {
	t.Parallel()
	problems := history.Check([]message.Message{user("hi"), says(call("1", "a", "{}"), call("", "a", "{}"))})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	assert.Equal(t, []string{
		"messages[1]: tool call 1 has no id", "messages[1]: tool call 0 has no result", "messages[1]: tool call 1 has no result",
	}, got)
	assert.Equal(t, `messages[3]: tool call 0 breaks the rule new`, history.Problem{Code: "new", Message: 3}.String())
}

func TestTheBeginningStaysWhenAHistoryGrows(t *testing.T) {
	t.Parallel()
	for _, d := range damages() {
		short, _ := history.Repair(d.in)
		// What follows has the ids that a repair makes, and those that were there.
		grown, _ := repairsHere(t, append(append([]message.Message(nil), d.in...), user("on"),
			says(call("call_repaired_1", "a", "{}"), call("call_repaired_2", "a", "{}"), call("1", "a", "{}"), call("", "a", "{}")), user("and on")))
		if assert.Greater(t, len(grown), len(short), d.name) {
			assert.Equal(t, lines(short), lines(grown[:len(short)]), d.name)
		}
	}
}

func TestOtherFieldsOfAResultStay(t *testing.T) {
	t.Parallel()
	r := result("", "a", "x")
	r.Label, r.Ephemeral = "kept", true
	r.Result.Trust, r.Result.Meta = message.TrustExternal, `{"n":1}`
	got, _ := repairsHere(t, []message.Message{user("hi"), says(call("1", "a", "{}")), r})
	r.CallID = "1"
	assert.Equal(t, r, got[2])
}

func TestArguments(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)
	for raw, want := range map[string]string{
		`{}`:                          `{}`,
		" { \"a\" : [ 1 , 2 ] }\n":    `{"a":[1,2]}`,
		`{"a":"<&>"}`:                 `{"a":"<&>"}`,
		`{"a":"\ud83d\ude00"}`:        `{"a":"\ud83d\ude00"}`,
		`{"a":"\\ud83d"}`:             `{"a":"\\ud83d"}`,
		"{\"a\":\"\xff\"}":            "{\"a\":\"\uFFFD\"}",
		`{"a":"\ude00"}`:              `{"unparsed_arguments":"{\"a\":\"\\ude00\"}"}`,
		`{"a":"\ud83d\ud83d\ude00"}`:  `{"unparsed_arguments":"{\"a\":\"\\ud83d\\ud83d\\ude00\"}"}`,
		`{"a":"\ud83d\ud83d"}`:        `{"unparsed_arguments":"{\"a\":\"\\ud83d\\ud83d\"}"}`,
		`{"a":"\uD83D "}`:             `{"unparsed_arguments":"{\"a\":\"\\uD83D \"}"}`,
		``:                            `{"unparsed_arguments":""}`,
		`null`:                        `{"unparsed_arguments":"null"}`,
		`[{}]`:                        `{"unparsed_arguments":"[{}]"}`,
		`{} {}`:                       `{"unparsed_arguments":"{} {}"}`,
		"{\"a\":\"\t\x01\r\n<\u2028>": `{"unparsed_arguments":"{\"a\":\"\t\u0001\r\n<` + "\u2028" + `>"}`,
		"\xff":                        `{"unparsed_arguments":"` + "\uFFFD" + `"}`,
		deep:                          `{"unparsed_arguments":"` + strings.ReplaceAll(deep, `"`, `\"`) + `"}`,
	} {
		got := string(history.Arguments(message.JSON(raw)))
		assert.Equal(t, want, got)
		assert.True(t, json.Valid([]byte(got)) && utf8.ValidString(got))
		assert.Equal(t, got, string(history.Arguments(message.JSON(got))), "what is readable stays")
	}
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"read_file-2": "read_file-2", "": "unnamed", "a.b": "a_b", "día": "d__a", "a b\n": "a_b_",
		strings.Repeat("x", 64): strings.Repeat("x", 64), strings.Repeat("é", 64): strings.Repeat("_", 64),
	} {
		got := history.ToolName(name)
		assert.Equal(t, want, got)
		assert.True(t, message.ValidToolName(got))
	}
}

func TestValidID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"call_1": true, "toolu_01A-b": true, "": false, "functions.read:0": false, "a|b": false, "é": false,
		strings.Repeat("x", 40): true, strings.Repeat("x", 41): false,
	} {
		assert.Equal(t, want, history.ValidID(id), id)
	}
}
