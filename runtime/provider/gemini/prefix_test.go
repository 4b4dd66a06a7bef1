package gemini_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

// Over twenty turns with tools, thoughts, media, another vendor's answer, context that is not
// stored, and settings that change, every request begins with all of the one before it that
// stays: the server finds it in its cache.
func TestThePrefixStays(t *testing.T) {
	t.Parallel()
	const passing = "CONTEXT-OF-THIS-REQUEST"
	set := tools(schema, schema)
	before, n, kept := "", 0, 0
	ask := func(ms []message.Message, m message.Model) {
		m.Name = modern
		n++
		// Context stands behind the input, and is not stored.
		all := append(append([]message.Message(nil), ms...), message.Message{Role: message.RoleUser, Ephemeral: true, Content: message.ListOf(text(fmt.Sprint(passing, n)))})
		body, err := sent(t, asks, message.ModelRequest{Model: m, System: "Be brief.", Tools: set, Messages: message.MessagesOf(all...), Stable: len(ms)})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(body, before), "request %d does not begin like the one before:\n%s\n%s", n, before, body)
		stays := body[:strings.Index(body, passing)]
		before = stays[:strings.LastIndexByte(stays, '}')+1]
		kept += len(before)
	}
	var ms []message.Message
	for turn := range 20 {
		ms = append(ms, user(text(fmt.Sprintf("turn %d <&>", turn)), image()))
		ask(ms, message.Model{MaxTokens: 100 + turn, Temperature: message.Some(float64(turn) / 20)})
		meta := func(i int) message.JSON {
			if turn%5 == 4 { // another vendor's
				return `{"anthropic":{"signature":"x"}}`
			}
			return own(fmt.Sprintf(`"model":"%s","id":"i%d_%d","signature":"S%d"`, modern, turn, i, turn))
		}
		a, b := fmt.Sprint("a", turn), fmt.Sprint("b", turn)
		ms = append(ms,
			assistant(message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: meta(9)}, text("I look."), call(a, "a", `{"path":"x"}`, meta(0)), call(b, "b", `{}`, meta(1))),
			result(a, "a", message.ToolResult{Content: message.ListOf(text("r"), image())}), result(b, "b", message.FailedResult(message.FailOperation, "no")))
		ask(ms, message.Model{Reasoning: message.Reasoning{Effort: message.EffortHigh}, Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}})
		ms = append(ms, assistant(text("done"), message.Block{Kind: message.BlockText, Meta: meta(3)}))
	}
	assert.Equal(t, 40, n)
	assert.Greater(t, kept, 100_000)
}

// An interrupted answer goes on: its token is sent instead of it, to its model alone.
func TestInterruptedAnswersGoOn(t *testing.T) {
	t.Parallel()
	pause := func(s, token string) message.Message {
		return assistant(text(s), message.Block{Kind: message.BlockReasoning, Meta: own(`"model":"` + modern + `","token":"` + token + `"`)})
	}
	ask := func(model string, ms ...message.Message) string {
		body, err := sent(t, asks, message.ModelRequest{Model: message.Model{Name: model}, Messages: message.MessagesOf(ms...)})
		require.NoError(t, err)
		return body
	}
	hi := message.UserText("hi")
	const first = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}`
	assert.Equal(t, first+`]`+thoughts+`,"continuationToken":"T1"}`, ask(modern, hi, pause("a", "T1")))
	assert.Equal(t, first+`]`+thoughts+`,"continuationToken":"T2"}`, ask(modern, hi, pause("a", "T1"), pause("b", "T2")))
	assert.Equal(t, first+`,{"role":"model","parts":[{"text":"a"},{"text":"b"}]},{"role":"user","parts":[{"text":"more"}]}]`+thoughts+`}`,
		ask(modern, hi, pause("a", "T1"), assistant(text("b")), message.UserText("more")))
	assert.Equal(t, first+`,{"role":"model","parts":[{"text":"a"}]}]`+thoughts+`}`, ask(older, hi, pause("a", "T1")))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	env := func(values map[string]string) *gemini.Provider {
		return gemini.New(gemini.FromEnv(func(name string) string { return values[name] }))
	}
	p := env(map[string]string{"GEMINI_API_KEY": " " + canary + "\n", "GEMINI_IDLE_TIMEOUT": "90s", "GEMINI_CONTEXT_WINDOW": "77", "GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_GEMINI_BASE_URL": "http://elsewhere.test"})
	require.NoError(t, p.Err())
	assert.Equal(t, "gemini(generativelanguage.googleapis.com)", p.String())
	assert.Equal(t, 77, p.ContextWindow(modern))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		assert.NotContains(t, fmt.Sprintf(verb, p), "canary")
	}
	for _, c := range []struct {
		values map[string]string
		want   string
	}{
		{nil, "no API key for generativelanguage.googleapis.com; set GEMINI_API_KEY"},
		{map[string]string{"GEMINI_API_KEY": "a b"}, "the API key holds a blank"},
		{map[string]string{"GEMINI_BASE_URL": "model.test"}, "the base URL is not http(s)://host"},
		{map[string]string{"GEMINI_API_KEY": canary, "GEMINI_IDLE_TIMEOUT": "90"}, `GEMINI_IDLE_TIMEOUT is "90"; write a duration such as 90s`},
		{map[string]string{"GEMINI_API_KEY": canary, "GEMINI_FIRST_BYTE_TIMEOUT": "0s"}, `GEMINI_FIRST_BYTE_TIMEOUT is "0s"`},
		{map[string]string{"GEMINI_API_KEY": canary, "GEMINI_CONTEXT_WINDOW": "-1"}, `GEMINI_CONTEXT_WINDOW is "-1"; write a number of tokens`},
	} {
		p := env(c.values)
		require.ErrorContains(t, p.Err(), c.want)
		_, err := provider.Collect(p.Stream(t.Context(), hello()))
		require.ErrorContains(t, err, c.want)
		class, _ := provider.Classify(err)
		assert.Equal(t, message.FailureRequest, class)
	}
	assert.NoError(t, gemini.New(&gemini.Options{BaseURL: "http://localhost:8080"}).Err())
	assert.NoError(t, gemini.New(&gemini.Options{Network: provider.Network{Header: http.Header{"Authorization": {"Bearer x"}}}}).Err())
	assert.Error(t, gemini.New(nil).Err())
}
