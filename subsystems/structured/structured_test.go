package structured_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/structured"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return structured.New(nil) }, &hooktest.Options{
		Agent:  hook.AgentConfig{Model: message.Model{Format: weather}}.WithSection("structured", `{"retries":1,"mode":"tool"}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

const (
	weatherSchema = `{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"integer"}},"required":["city","degrees"],"additionalProperties":false}`
	nyborg        = `{"city":"Nyborg","degrees":9}`
)

var weather = message.ResponseFormat{JSON: true, Schema: weatherSchema, Name: "weather"}

// model plays a rule for each request, and keeps the requests. Rules with conditions are a
// script.
type model struct {
	rules    []script.Rule
	mu       sync.Mutex
	requests []message.ModelRequest
}

func (m *model) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	m.mu.Lock()
	n := len(m.requests)
	m.requests = append(m.requests, req)
	m.mu.Unlock()
	if m.rules[0].When != nil {
		return script.New(m.rules...).Stream(ctx, req)
	}
	r := m.rules[min(n, len(m.rules)-1)]
	r.When = &script.When{}
	return script.New(r).Stream(ctx, req)
}

// request returns the n-th request and the text of its last message.
func (m *model) request(n int) (message.ModelRequest, string) {
	req := m.requests[n]
	return req, req.Messages.At(req.Messages.Len() - 1).Text()
}

func (m *model) offered(n int) []string {
	var names []string
	for _, tool := range m.requests[n].Tools.Tools().All() {
		names = append(names, tool.Name)
	}
	return names
}

type none struct{}

var look = tool.New("look", "Look looks out of the window.", func(context.Context, none) (string, error) { return "rain", nil },
	&tool.Options{Annotations: message.Annotations{ReadOnly: true}})

// world is an agent that answers with the weather.
type world struct {
	*model
	agent  hook.AgentConfig
	extra  []composite.Field
	native bool
	events []hook.Event
	rt     *runtime.Runtime
}

func newWorld(rules ...script.Rule) *world {
	return &world{model: &model{rules: rules}, agent: hook.AgentConfig{Name: "a", Model: message.Model{Format: weather}}}
}

func (w *world) open(t *testing.T) *runtime.Conversation {
	t.Helper()
	fields := append([]composite.Field{{Name: "Tools", Hook: tool.Set(look)}}, w.extra...)
	fields = append(fields, composite.Field{Name: "Structured", Hook: structured.New(&structured.Options{Native: func(string) bool { return w.native }})})
	hooks, err := composite.Of("World", fields...)
	require.NoError(t, err)
	w.rt = runtime.New(hooks, w.model, nil)
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, w.rt.Close(context.WithoutCancel(t.Context()))) })
	agent, err := w.rt.Register(t.Context(), w.agent)
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return conv
}

func (w *world) send(t *testing.T, o runtime.TurnOptions) hook.TurnOutcome {
	t.Helper()
	o.Observe = func(ev hook.Event) { w.events = append(w.events, ev) }
	out, err := w.open(t).Send(t.Context(), message.TextInput("How is the weather?"), &o)
	require.NoError(t, err)
	return out
}

// told are the events about text, in short.
func (w *world) told() string {
	var out []string
	for _, ev := range w.events {
		switch ev.Kind {
		case event.TextDelta:
			out = append(out, ev.Text)
		case event.TurnRetried:
			out = append(out, "<retried>")
		case event.TextEnd, event.CallStart, event.CallResult:
			out = append(out, "<"+string(ev.Kind)+">")
		}
	}
	return strings.Join(out, "")
}

func say(text string) script.Rule { return script.Rule{Say: text} }

func final(args message.JSON) script.Call { return script.Call{Tool: structured.Tool, Args: args} }

func calls(c ...script.Call) script.Rule { return script.Rule{Calls: c} }

func TestReplies(t *testing.T) {
	t.Parallel()
	cut := say(`{"city":"Nyborg","degrees":9}`)
	cut.Finish = message.FinishLength
	withheld := say(nyborg)
	withheld.Finish = message.FinishFilter
	cutCall := calls(script.Call{Tool: structured.Tool, Raw: `{"city":"Ny`})
	cutCall.Finish = message.FinishLength
	spoken := calls(final(nyborg))
	spoken.Say, spoken.Reason = "Let me answer.", "It rains."
	for _, tt := range []struct {
		name   string
		native bool
		rules  []script.Rule
		// want is the answer, or the error; feedback is what the model was told at last.
		want, err, feedback string
		asked               int
	}{
		{name: "valid at once", native: true, rules: []script.Rule{say(nyborg)}, want: nyborg, asked: 1},
		{name: "invalid, then valid", native: true, rules: []script.Rule{say(`{"city":"Nyborg","degrees":"nine"}`), say(nyborg)}, want: nyborg, asked: 2,
			feedback: "The answer was not accepted:\n- /degrees must be of type integer\nAnswer again, with the whole JSON value and nothing else."},
		{name: "invalid to the end", native: true, rules: []script.Rule{say("It rains."), say(`{}`), say(`[]`)}, asked: 3,
			err:      "runtime: rejected by a hook: Structured: the model's answer does not fit the schema weather after 3 replies: the value must be of type object",
			feedback: "The answer was not accepted:\n- /city is required\n- /degrees is required\nAnswer again, with the whole JSON value and nothing else."},
		{name: "nothing", native: true, rules: []script.Rule{{Finish: message.FinishStop}, say(nyborg)}, want: nyborg, asked: 2,
			feedback: "The answer was not accepted:\n- the value must be JSON, and is empty\nAnswer again, with the whole JSON value and nothing else."},
		{name: "fenced", native: true, rules: []script.Rule{say("\n```json\n" + nyborg + "\n```\n")}, want: nyborg, asked: 1},
		{name: "fenced without a name", native: true, rules: []script.Rule{say("```\n" + nyborg + "\n```")}, want: nyborg, asked: 1},
		{name: "fenced as something else", native: true, rules: []script.Rule{say("```yaml\n" + nyborg + "\n```"), say(nyborg)}, want: nyborg, asked: 2},
		{name: "prose before the fence", native: true, rules: []script.Rule{say("Here:\n```json\n" + nyborg + "\n```"), say(nyborg)}, want: nyborg, asked: 2},
		{name: "two fences", native: true, rules: []script.Rule{say("```json\n" + nyborg + "\n```\n```json\n{}\n```"), say(nyborg)}, want: nyborg, asked: 2},
		{name: "cut, and complete by chance", native: true, rules: []script.Rule{cut, say(nyborg)}, want: nyborg, asked: 2,
			feedback: "The answer was not accepted:\n- the value must be complete, and was cut off at the limit of tokens; make it shorter\nAnswer again, with the whole JSON value and nothing else."},
		{name: "cut to the end", native: true, rules: []script.Rule{cut, cut, cut}, asked: 3,
			err: "runtime: rejected by a hook: Structured: the model's answer does not fit the schema weather after 3 replies: the value must be complete, and was cut off at the limit of tokens; make it shorter"},
		{name: "withheld", native: true, rules: []script.Rule{withheld, say(nyborg)}, want: nyborg, asked: 2},

		{name: "fenced, byte by byte", native: true, rules: []script.Rule{{Say: " \n```json\n" + nyborg + "\n```", Pace: script.Pace{Bytes: 1}}}, want: nyborg, asked: 1},
		{name: "blanks around", native: true, rules: []script.Rule{{Say: "\n " + nyborg + "\n", Pace: script.Pace{Bytes: 1}}}, want: "\n " + nyborg + "\n", asked: 1},

		{name: "final_answer alone, byte by byte", rules: []script.Rule{{Reason: "It rains.", Calls: []script.Call{final(nyborg)}, Pace: script.Pace{Bytes: 1}}}, want: nyborg, asked: 1},
		{name: "final_answer alone", rules: []script.Rule{calls(final(nyborg))}, want: nyborg, asked: 1},
		{name: "with text and reasoning", rules: []script.Rule{spoken}, want: nyborg, asked: 1},
		{name: "text in its place", rules: []script.Rule{say(nyborg)}, want: nyborg, asked: 1},
		{name: "fenced text in its place", rules: []script.Rule{say("```json\n" + nyborg + "\n```")}, want: nyborg, asked: 1},
		{name: "prose in its place", rules: []script.Rule{say("It rains."), calls(final(nyborg))}, want: nyborg, asked: 2,
			feedback: "The answer was not accepted:\n- the value must be JSON, and is none from byte 1 on\nAnswer again, by one call of final_answer with the whole value, and nothing else."},
		{name: "beside others", rules: []script.Rule{calls(final(`{"city":"Guess","degrees":0}`), script.Call{Tool: "look"}), calls(final(nyborg))}, want: nyborg, asked: 2,
			feedback: "Your call of final_answer was left out, because it came with calls of other tools. Their results are above. When you have all that you need, call final_answer alone."},
		{name: "after others", rules: []script.Rule{calls(script.Call{Tool: "look"}), calls(final(nyborg))}, want: nyborg, asked: 2},
		{name: "twice", rules: []script.Rule{calls(final(nyborg), final(nyborg)), calls(final(nyborg))}, want: nyborg, asked: 2,
			feedback: "The answer was not accepted:\n- the value must be given by one call of final_answer; there were 2\nAnswer again, by one call of final_answer with the whole value, and nothing else."},
		{name: "with wrong arguments", rules: []script.Rule{calls(final(`{"city":7}`)), calls(final(nyborg))}, want: nyborg, asked: 2,
			feedback: "The answer was not accepted:\n- /degrees is required\n- /city must be of type string\nAnswer again, by one call of final_answer with the whole value, and nothing else."},
		{name: "with arguments that are no JSON", rules: []script.Rule{calls(script.Call{Tool: structured.Tool, Raw: "{"}), calls(final(nyborg))}, want: nyborg, asked: 2},
		{name: "cut arguments", rules: []script.Rule{cutCall, calls(final(nyborg))}, want: nyborg, asked: 2},
		{name: "wrong to the end", rules: []script.Rule{calls(final(`{}`)), say("no"), calls(final(`{}`), final(`{}`))}, asked: 3,
			err: "runtime: rejected by a hook: Structured: the model's answer does not fit the schema weather after 3 replies: the value must be given by one call of final_answer; there were 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(tt.rules...)
			w.native = tt.native
			out := w.send(t, runtime.TurnOptions{})
			require.Len(t, w.requests, tt.asked)
			if tt.err == "" {
				require.NoError(t, out.Err)
				assert.Equal(t, hook.StopCompleted, out.Stop)
			} else {
				require.EqualError(t, out.Err, tt.err)
				require.ErrorIs(t, out.Err, runtime.ErrRejected)
				var bad *structured.Error
				require.ErrorAs(t, out.Err, &bad)
				assert.Equal(t, 2, bad.Retries)
				assert.Equal(t, hook.StopError, out.Stop)
				assert.Zero(t, out.Message, "an invalid reply is no answer")
			}
			assert.Equal(t, tt.want, out.Text())
			if _, told := w.request(tt.asked - 1); tt.feedback != "" {
				assert.Equal(t, tt.feedback, told)
			}
			for i, req := range w.requests {
				assert.Equal(t, tt.native, req.Model.Format == weather, "request %d has the format", i)
				assert.Equal(t, !tt.native, req.Model.Format == message.ResponseFormat{}, "request %d has none", i)
				assert.Equal(t, tt.native, len(w.offered(i)) == 1, "request %d offers final_answer", i)
			}
		})
	}
}

// A reply that was not accepted stands before what was wrong with it, in every further request of the turn and in no later one.
func TestTheModelSeesItsReply(t *testing.T) {
	t.Parallel()
	withheld := say("Something bad.")
	withheld.Finish = message.FinishFilter
	for _, tt := range []struct {
		name   string
		native bool
		rules  []script.Rule
		want   []string // the last request of the first turn, without the feedback
	}{
		{"in text", true, []script.Rule{say("It rains."), say("{}"), say(nyborg)}, []string{"user:Hi", "assistant:It rains.", "user:", "assistant:{}", "user:"}},
		{"by final_answer", false, []script.Rule{calls(final(`{"city":1}`)), calls(final(nyborg))}, []string{"user:Hi", `assistant:{"city":1}`, "user:"}},
		{"before a call", false, []script.Rule{say("It rains."), calls(script.Call{Tool: "look"}), calls(final(nyborg))}, []string{"user:Hi", "assistant:It rains.", "user:", "assistant:", "tool:rain"}},
		{"the same twice", true, []script.Rule{say("{}"), say("{}"), say(nyborg)}, []string{"user:Hi", "assistant:{}", "user:", "assistant:{}", "user:"}},
		{"nothing", true, []script.Rule{{Finish: message.FinishStop}, say(nyborg)}, []string{"user:Hi", "user:"}},
		{"withheld", true, []script.Rule{withheld, say(nyborg)}, []string{"user:Hi", "user:"}},
		{"several calls", false, []script.Rule{calls(final("{}"), final("{}")), calls(final(nyborg))}, []string{"user:Hi", "user:"}},
		{"too long", true, []script.Rule{say(strings.Repeat("x", 64<<10+1)), say(nyborg)}, []string{"user:Hi", "user:"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(append(tt.rules, say(nyborg))...)
			w.native = tt.native
			conv := w.open(t)
			out, err := conv.Send(t.Context(), message.TextInput("Hi"), nil)
			require.NoError(t, errors.Join(err, out.Err))
			lines := func(n int) (got []string) {
				for _, m := range w.requests[n].Messages.All() {
					text := m.Text() + m.Result.Text()
					if m.Label == "feedback" {
						text = ""
					}
					got = append(got, string(m.Role)+":"+text)
				}
				return got
			}
			assert.Equal(t, tt.want, lines(len(tt.rules)-1))
			_, err = conv.Send(t.Context(), message.TextInput("Again"), nil)
			require.NoError(t, err)
			assert.NotContains(t, lines(len(tt.rules)), tt.want[1], "it is not stored")
		})
	}
}

// What is stored of an answer by final_answer is a plain message; invalid replies and the call
// beside others are not stored.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(
		calls(final(`{}`), script.Call{Tool: "look"}),
		say("It rains."),
		calls(final(nyborg)),
		say(nyborg),
	)
	conv := w.open(t)
	out, err := conv.Send(t.Context(), message.TextInput("Hi"), nil)
	require.NoError(t, errors.Join(err, out.Err))
	_, err = conv.Send(t.Context(), message.TextInput("Again"), nil)
	require.NoError(t, err)
	var got []string
	for _, m := range w.requests[3].Messages.All() {
		line := string(m.Role) + ":" + m.Text() + m.Result.Text()
		for _, b := range m.Content.All() {
			line += b.Tool
		}
		got = append(got, line)
	}
	assert.Equal(t, []string{"user:Hi", "assistant:look", "tool:rain", "assistant:" + nyborg, "user:Again"}, got)
}

func TestWhatClientsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(say(`{"city":1}`), say(nyborg))
	w.native = true
	w.send(t, runtime.TurnOptions{})
	assert.Equal(t, `{"city":1}<text_end><retried>`+nyborg+`<text_end>`, w.told(), "in native mode text is streamed; a dropped reply is announced")

	w = newWorld(calls(final(`{"city":1}`)), calls(final(nyborg)))
	w.send(t, runtime.TurnOptions{})
	assert.Equal(t, `{"city":1}<text_end><retried>`+nyborg+`<text_end>`, w.told(), "no events of calls")

	w = newWorld(say("```json\n" + nyborg + "\n```"))
	w.native = true
	w.send(t, runtime.TurnOptions{})
	assert.Equal(t, nyborg+"<text_end>", w.told(), "no fence")
}

func TestSchemasThatAreNoObjects(t *testing.T) {
	t.Parallel()
	const list = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`
	for _, tt := range []struct {
		name, schema, want string
		rule               script.Rule
		input              string
	}{
		{"a list", list, "[1,2]", calls(final(`{"answer":[1,2]}`)),
			`{"additionalProperties":false,"properties":{"answer":{"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/properties/answer/$defs/n"},"type":"array"}},"required":["answer"],"type":"object"}`},
		{"any JSON", "", "null", calls(final(`{"answer":null}`)),
			`{"additionalProperties":false,"properties":{"answer":{"description":"Any value."}},"required":["answer"],"type":"object"}`},
		{"any JSON, not wrapped", "", `{"a":1}`, calls(final(`{"a":1}`)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(tt.rule)
			w.agent.Model.Format = message.ResponseFormat{JSON: true, Schema: message.JSON(tt.schema)}
			out := w.send(t, runtime.TurnOptions{})
			require.NoError(t, out.Err)
			assert.Equal(t, tt.want, out.Text())
			tools := w.requests[0].Tools.Tools()
			if tt.input != "" {
				assert.Equal(t, message.JSON(tt.input), tools.At(tools.Len()-1).Input)
			}
		})
	}
}

func TestTurnsThatAskForNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(say("```json\n{}\n```"))
	w.agent.Model.Format = message.ResponseFormat{}
	out := w.send(t, runtime.TurnOptions{})
	require.NoError(t, out.Err)
	assert.Equal(t, "```json\n{}\n```", out.Text())
	assert.Equal(t, []string{"look"}, w.offered(0))
}

func TestOneTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(say("Hello."), calls(final(nyborg)), say("Bye."))
	w.agent.Model.Format = message.ResponseFormat{}
	conv := w.open(t)
	for _, f := range []message.ResponseFormat{{}, weather, {}} {
		out, err := conv.Send(t.Context(), message.TextInput("Hi"), &runtime.TurnOptions{Model: message.Model{Format: f}})
		require.NoError(t, errors.Join(err, out.Err))
	}
	assert.Equal(t, []string{"look"}, w.offered(0))
	assert.Equal(t, []string{"look", "final_answer"}, w.offered(1))
	assert.Equal(t, []string{"look"}, w.offered(2))

	w = newWorld(say(nyborg))
	out := w.send(t, runtime.TurnOptions{Model: message.Model{Format: message.ResponseFormat{Schema: `{"$ref":"https://example.com/"}`}}})
	assert.ErrorContains(t, out.Err, `the schema of the answer: /$ref it refers to "https://example.com/"`)
	assert.Empty(t, w.requests, "no model is asked")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	section := func(body message.JSON) func(w *world) {
		return func(w *world) { w.agent = w.agent.WithSection("structured", body) }
	}
	for _, tt := range []struct {
		section message.JSON
		native  bool
		asked   int
		tool    bool
	}{
		{`{"retries":0}`, false, 1, true},
		{`{"retries":3}`, false, 4, true},
		{`{"mode":"native"}`, false, 3, false},
		{`{"mode":"tool"}`, true, 3, true},
	} {
		t.Run(string(tt.section), func(t *testing.T) {
			t.Parallel()
			w := newWorld(say("1"), say("2"), say("3"), say("4"), say("5"))
			w.native = tt.native
			section(tt.section)(w)
			out := w.send(t, runtime.TurnOptions{})
			var bad *structured.Error
			require.ErrorAs(t, out.Err, &bad)
			assert.Len(t, w.requests, tt.asked)
			assert.Equal(t, tt.tool, len(w.offered(0)) == 2)
		})
	}
	for _, tt := range []struct {
		section, schema message.JSON
		want            string
	}{
		{`{"retries":7}`, "", `agent "a": section structured: retries is 7; write 0 to 3`},
		{`{"retries":-1}`, "", `retries is -1`},
		{`{"mode":"json"}`, "", `section structured: mode is "json"; write native or tool, or leave it out`},
		{`{"retry":1}`, "", `section structured: retry: unknown key`},
		{"", `{"properties":{"a":{"pattern":"("}}}`, `agent "a": format.schema: /properties/a/pattern is no regular expression`},
	} {
		cfg := hook.AgentConfig{Name: "a", Model: message.Model{Format: message.ResponseFormat{Schema: tt.schema}}}.WithSection("structured", tt.section)
		_, err := structured.New(nil).OnBuildAgent(t.Context(), cfg)
		assert.ErrorContains(t, err, tt.want)
	}
}

// A model that must not call tools may still call final_answer.
func TestToolChoice(t *testing.T) {
	t.Parallel()
	w := newWorld(calls(final(nyborg)))
	w.agent.Model.Choice.Mode = message.ToolChoiceNone
	out := w.send(t, runtime.TurnOptions{})
	require.NoError(t, out.Err)
	assert.Equal(t, message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "final_answer"}, w.requests[0].Model.Choice)
}

// steerer says something to the running turn during its first model call.
type steerer struct {
	hook.Nop
	turn func() *runtime.Turn
	done sync.Once
}

func (s *steerer) AfterModel(ctx context.Context, _ *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	var err error
	s.done.Do(func() { err = s.turn().Steer(ctx, message.TextInput("In Nyborg, please.")) })
	return hook.ReplyDecision{}, err
}

func TestSteer(t *testing.T) {
	t.Parallel()
	w := newWorld(calls(final(`{"city":"Odense","degrees":8}`)), calls(final(nyborg)))
	s := new(steerer)
	w.extra = []composite.Field{{Name: "Steerer", Hook: s}}
	conv := w.open(t)
	s.turn = conv.Running
	out, err := conv.Send(t.Context(), message.TextInput("Hi"), nil)
	require.NoError(t, errors.Join(err, out.Err))
	assert.Equal(t, nyborg, out.Text())
	_, told := w.request(1)
	assert.Equal(t, "In Nyborg, please.", told)
}

func TestChildren(t *testing.T) {
	t.Parallel()
	for _, valid := range []bool{true, false} {
		t.Run(fmt.Sprint(valid), func(t *testing.T) {
			t.Parallel()
			child := nyborg
			if !valid {
				child = `{"city":1}`
			}
			isChild := &script.When{User: script.Text{Contains: "child"}}
			w := newWorld(
				script.Rule{When: isChild, Calls: []script.Call{final(message.JSON(child))}},
				script.Rule{When: &script.When{Step: 1}, Calls: []script.Call{{Tool: "ask"}}},
				script.Rule{When: &script.When{}, Say: "done"},
			)
			w.agent.Model.Format = message.ResponseFormat{}
			var got hook.TurnOutcome
			ask := &asker{out: &got}
			w.extra = []composite.Field{{Name: "Asker", Hook: ask}}
			conv := w.open(t)
			_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "child", Model: message.Model{Format: weather}})
			require.NoError(t, err)
			out, err := conv.Send(t.Context(), message.TextInput("Hi"), nil)
			require.NoError(t, errors.Join(err, out.Err))
			assert.Equal(t, "done", out.Text(), "the parent asks for no JSON")
			if valid {
				require.NoError(t, got.Err)
				assert.Equal(t, nyborg, got.Text())
				return
			}
			var bad *structured.Error
			require.ErrorAs(t, got.Err, &bad)
			assert.Empty(t, got.Text())
		})
	}
}

// asker has a tool that runs the agent child.
type asker struct {
	hook.Nop
	out *hook.TurnOutcome
}

func (*asker) Schema() []message.Tool {
	return []message.Tool{{Name: "ask", Description: "Ask.", Input: `{"type":"object"}`, Waits: true}}
}

func (a *asker) Dispatch(_ context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound("{}", a), c.Name() == "ask"
}

func (a *asker) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "child", Input: message.TextInput("child"), Call: env.Call})
	if *a.out = out; err != nil {
		return message.FailedResult(message.FailOperation, err.Error())
	}
	return message.TextResult(out.Text())
}
