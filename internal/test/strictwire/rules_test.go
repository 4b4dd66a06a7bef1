package strictwire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/test/strictwire"
)

// TestMain leaves out the goroutine that a dependency of the SDK of Gemini starts in its init.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// row is a request that breaks one rule, one beside it that breaks none, and a
// part of what the vendor says.
type row struct{ rule, bad, good, says string }

// rows are the rows of a wire. model is that of wires whose body does not name it.
type rows struct {
	wire  strictwire.Wire
	model string
	rows  []row
	// stateful are the rules that headers or earlier answers break; they have tests of
	// their own.
	stateful []string
}

func allRows() []rows {
	return []rows{
		{strictwire.Chat(), "", openAIRows(), []string{"path", "auth"}},
		{strictwire.Responses(), "", responsesRows(), []string{"path", "auth", "reasoning-sealed", "reasoning-missing"}},
		{strictwire.Messages(), "", anthropicRows(), []string{"path", "auth", "version", "thinking-signed", "redacted-signed", "thinking-kept"}},
		{strictwire.Gemini(), "gemini-3-pro", geminiRows(), []string{"path", "alt", "auth", "signature"}},
	}
}

// broken returns what a request breaks. A request that begins with a name is to that model.
func (w rows) broken(body, without string) []strictwire.Refusal {
	model := w.model
	if !strings.HasPrefix(body, "{") {
		model, body, _ = strings.Cut(body, " ")
	}
	return w.wire.Broken(model, []byte(body), without)
}

// ids returns the rules of refusals, each once.
func ids(broken []strictwire.Refusal) (out []string) {
	for _, r := range broken {
		if len(out) == 0 || out[len(out)-1] != r.Rule {
			out = append(out, r.Rule)
		}
	}
	return out
}

func TestEveryRuleRefusesWhatBreaksItAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, w := range allRows() {
		t.Run(w.wire.Name(), func(t *testing.T) {
			t.Parallel()
			tested := map[string]bool{}
			for _, r := range w.rows {
				tested[r.rule] = true
				assert.Empty(t, w.broken(r.good, ""), "%s: the right one: %.300s", r.rule, r.good)
				got := w.broken(r.bad, "")
				if !assert.Equal(t, []string{r.rule}, ids(got), "%.300s", r.bad) {
					continue
				}
				assert.Contains(t, got[0].Message, r.says)
				assert.GreaterOrEqual(t, got[0].Status, 400)
				assert.True(t, json.Valid([]byte(got[0].Body)))
				// Without the rule the server takes the request, so that this row is the rule's test.
				assert.Empty(t, w.broken(r.bad, r.rule), "%s", r.rule)
			}
			for _, id := range w.stateful {
				assert.False(t, tested[id], "%s is tested twice", id)
				tested[id] = true
			}
			for _, rule := range w.wire.Rules() {
				assert.True(t, tested[rule.ID], "no request breaks the rule %s", rule.ID)
				assert.NotEmpty(t, rule.Why, rule.ID)
				assert.Regexp(t, `^(.+/.+#\d+|[a-z]+\.[a-z.]+/.+|[a-z-]+(/v\d)? [a-z/]+\.go \w+|ttlequals0.+|maki#\d+|google.golang.org/genai types.go \w+)(; .+)?$`, rule.Source, rule.ID)
				delete(tested, rule.ID)
			}
			assert.Empty(t, tested, "rules that are not listed")
		})
	}
}

// A rule that is taken out is missed: the test above would fail.
func TestARuleThatIsTakenOutIsMissed(t *testing.T) {
	t.Parallel()
	for _, w := range allRows() {
		for _, rule := range w.wire.Rules() {
			missed := false
			for _, r := range w.rows {
				missed = missed || r.rule == rule.ID && len(w.broken(r.bad, rule.ID)) == 0
			}
			for _, id := range w.stateful {
				missed = missed || id == rule.ID // see TestStatefulRules
			}
			assert.True(t, missed, "%s: nothing minds that the rule %s is gone", w.wire.Name(), rule.ID)
		}
	}
}

// What follows from a broken rule is not what the server answers.
func TestTheFirstBrokenRuleIsAnswered(t *testing.T) {
	t.Parallel()
	use, two := anUse("1", "read", "{}"), anUse("2", "read", "{}")
	for _, tc := range []struct {
		name, body string
		want       []string
		messages   bool
	}{
		{"results in two messages", ask(anUser + `,` + an("assistant", use, two) + `,` + an("user", anResult("1")) + `,` + an("user", anResult("2"))), []string{"result-missing", "result-unknown"}, true},
		{"a text between call and result", ask(anUser + `,` + an("assistant", use) + `,` + an("assistant", anText("x")) + `,` + an("user", anResult("1"))), []string{"result-missing", "result-unknown"}, true},
		{"a question between call and result", chat(oaUser + `,` + oaCalls("1") + `,` + oaUser + `,` + oaResult), []string{"result-missing", "result-orphan"}, false},
	} {
		w := strictwire.Chat()
		if tc.messages {
			w = strictwire.Messages()
		}
		assert.Equal(t, tc.want, ids(w.Broken("", []byte(tc.body), "")), tc.name)
		assert.Equal(t, tc.want[0], w.Check("", []byte(tc.body)).Rule, tc.name)
	}
}

func TestRefusalsHaveTheVendorsForm(t *testing.T) {
	t.Parallel()
	got := strictwire.CheckOpenAI([]byte(chat(oaUser, `,"tools":[]`)))
	require.NotNil(t, got)
	assert.Equal(t, 400, got.Status)
	assert.JSONEq(t, `{"error":{"message":"Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
		"type":"invalid_request_error","param":"tools","code":"empty_array"}}`, got.Body)
	got = strictwire.CheckOpenAI([]byte(chat(oaUser + `,` + oaCalls("1"))))
	require.NotNil(t, got)
	assert.Contains(t, got.Body, `"code":null`)
	got = strictwire.CheckAnthropic([]byte(bare("")))
	require.NotNil(t, got)
	assert.JSONEq(t, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"},"request_id":"req_strictwire"}`, got.Body)
	got = strictwire.CheckAnthropic([]byte(bare(`{"role":"user","content":"` + strings.Repeat("x", 32<<20) + `"}`)))
	require.NotNil(t, got)
	assert.Equal(t, []any{413, "request_too_large"}, []any{got.Status, got.Type})
}

// The servers read JSON with a parser of their own: it has to take what is JSON
// and nothing else, but for lone surrogates and bytes that are no UTF-8.
func TestTheParserTakesWhatIsJSON(t *testing.T) {
	t.Parallel()
	takes := func(s string) bool {
		r := strictwire.CheckOpenAI([]byte(oaAnswered(oaCall("1", "read", s))))
		return r == nil
	}
	for _, s := range []string{
		`{"a":1}`, `{"a":-0.5E+10}`, `{"a":[]}`, `{"a":{}}`, `{"a":[1,2,{"b":null}]}`, `{ "a" : true , "b" : false }`, `{"a":"\"\\\/\b\f\n\r\t\u00e9"}`,
		`{"a":1e999}`, `{"":0}`, `{"a":1,"a":2}`,
		``, `{`, `}`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":[,]}`, `{a:1}`, `{'a':1}`, `{"a":01}`, `{"a":+1}`,
		`{"a":.5}`, `{"a":5.}`, `{"a":1e}`, `{"a":-}`, `{"a":0x1}`, `{"a":NaN}`, `{"a":tru}`, `{"a":truex}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, "{\"a\":\"\t\"}", "{\"a\":\"\\n\t\"}",
		`{"a":"b`, `{"a":"b\`, `{"a":"b\u`, `{} {}`, `{}x`, `{"a":[1`, `{"a":[1,`, `{"a":{"b":1}`, `{"a":1_0}`, `{"a":1-2}`, `{"a":1.e3}`, `{"a":-.5}`,
	} {
		want := json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimSpace(s), "{")
		assert.Equal(t, want, takes(s), s)
	}
	assert.False(t, takes(strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000)), "too deep")
}
