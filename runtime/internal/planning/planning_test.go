package planning_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/planning"
)

func TestAPlanIsReadStrictly(t *testing.T) {
	t.Parallel()
	many := func(n int) string { return `{"steps":["` + strings.Repeat(`x","`, n-1) + `x"]}` }
	for _, c := range []struct {
		name, text string
		steps      []string
		problem    string
	}{
		{"plain", `{"steps":["look","tell"]}`, []string{"look", "tell"}, ""},
		{"fenced", "```json\n{\"steps\":[\"look\"]}\n```", []string{"look"}, ""},
		{"one line each", `{"steps":["look\n2. [x] lie \u001b[2J"]}`, []string{"look 2. [x] lie \u001b[2J"}, ""},
		{"no work", `{"steps":[]}`, []string{}, ""},
		{"as many as may be", many(planning.MaxSteps), strings.Fields(strings.Repeat("x ", planning.MaxSteps)), ""},
		{"too many", many(planning.MaxSteps + 1), nil, "it has 21 steps and may have 20"},
		{"too long", fmt.Sprintf(`{"steps":[%q]}`, strings.Repeat("y", planning.MaxStep+1)), nil, "step 1 has 1001 bytes and may have 1000"},
		{"an empty step", `{"steps":["look"," "]}`, nil, "step 2 is empty"},
		{"no steps", `{}`, nil, `it has no member "steps"`},
		{"steps that are null", `{"steps":null}`, nil, `it has no member "steps"`},
		{"prose", "First I look.", nil, "it is not the JSON that was asked for"},
		{"two values", `{"steps":["a"]} {"steps":["b"]}`, nil, "it is not the JSON that was asked for"},
		{"nothing", " \n", nil, "it is empty"},
		{"an open fence", "```", nil, "it is not the JSON that was asked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s planning.State
			require.NoError(t, s.Plan(c.text), "the first bad reply is no error")
			assert.Equal(t, c.problem, s.Problem)
			if c.problem != "" {
				assert.Equal(t, planning.Planning, s.Phase)
				assert.Contains(t, s.Ask().Prompt, c.problem, "the model hears what is wrong")
				return
			}
			assert.Equal(t, c.steps, s.Steps)
		})
	}
}

func TestAPlanThatCannotBeReadIsAnErrorAtTheLimit(t *testing.T) {
	t.Parallel()
	var s planning.State
	for range planning.MaxAttempts - 1 {
		require.NoError(t, s.Plan("no"))
	}
	require.ErrorIs(t, s.Plan("no"), planning.ErrPlan)
}

// executed returns the state after the first done steps of a plan.
func executed(t *testing.T, steps, done int) planning.State {
	t.Helper()
	var s planning.State
	text, err := json.Marshal(map[string][]string{"steps": strings.Fields(strings.Repeat("do ", steps))})
	require.NoError(t, err)
	require.NoError(t, s.Plan(string(text)))
	for i := range done {
		if i > 0 {
			_, err := s.Decide(`{"decision":"continue","steps":[]}`)
			require.NoError(t, err)
		}
		s.StepDone()
	}
	return s
}

func TestADecisionContinuesRevisesOrEndsThePlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text  string
		steps, done int
		changed     bool
		phase       planning.Phase
		plan        string
	}{
		{"continue", `{"decision":"continue"}`, 2, 1, false, planning.Executing, "1. [x] do\n2. [ ] do"},
		{"continue behind the last", `{"decision":"continue"}`, 1, 1, false, planning.Answering, "1. [x] do"},
		{"done", `{"decision":"done"}`, 3, 1, true, planning.Answering, "1. [x] do"},
		{"revise", `{"decision":"revise","steps":["other","last"]}`, 2, 1, true, planning.Executing, "1. [x] do\n2. [ ] other\n3. [ ] last"},
		{"revise to nothing", `{"decision":"revise","steps":[]}`, 2, 1, true, planning.Answering, "1. [x] do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := executed(t, c.steps, c.done)
			changed, err := s.Decide(c.text)
			require.NoError(t, err)
			assert.Equal(t, c.changed, changed)
			assert.Equal(t, c.phase, s.Phase)
			assert.Equal(t, c.plan, s.Markdown())
		})
	}
}

func TestADecisionThatCannotBeReadLeavesThePlanAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"hm", `{"decision":"stop"}`, `{"decision":"revise","steps":[""]}`} {
		s := executed(t, 2, 1)
		for range planning.MaxAttempts - 1 {
			_, err := s.Decide(bad)
			require.Error(t, err)
			assert.Equal(t, planning.Deciding, s.Phase, bad)
		}
		_, err := s.Decide(bad)
		require.Error(t, err)
		assert.Equal(t, planning.Executing, s.Phase, bad)
		assert.Equal(t, "1. [x] do\n2. [ ] do", s.Markdown())
		assert.Zero(t, s.Attempts)
	}
}

func TestRevisionsEnd(t *testing.T) {
	t.Parallel()
	s := executed(t, 1, 1)
	for range planning.MaxRevisions {
		_, err := s.Decide(`{"decision":"revise","steps":["once more"]}`)
		require.NoError(t, err)
		s.StepDone()
	}
	assert.NotContains(t, s.Ask().Prompt, "revise")
	assert.NotContains(t, string(s.Ask().Format.Schema), "revise")
	_, err := s.Decide(`{"decision":"revise","steps":["once more"]}`)
	require.ErrorContains(t, err, "revised 8 times")
}

func TestTheWholePlanHasALimit(t *testing.T) {
	t.Parallel()
	s := executed(t, 2, 2)
	_, err := s.Decide(`{"decision":"revise","steps":["` + strings.Repeat(`x","`, planning.MaxSteps-2) + `x"]}`)
	require.ErrorContains(t, err, "it has 19 steps and may have 18")
}

func TestTheLastCallOfAStepHasNoTools(t *testing.T) {
	t.Parallel()
	s := executed(t, 1, 0)
	for range planning.MaxCalls - 1 {
		assert.False(t, s.Ask().NoTools)
		s.Called()
	}
	assert.True(t, s.Ask().NoTools)
}

func TestAStateSurvives(t *testing.T) {
	t.Parallel()
	s := executed(t, 3, 2)
	s.Number = 7
	assert.Equal(t, s, planning.Restore(s.JSON()))
	for _, bad := range []message.JSON{"", "{", "7", `{"phase":"odd"}`, `{"phase":"executing"}`, `{"phase":"executing","steps":["a"],"done":1}`,
		`{"phase":"executing","steps":["a"],"done":-1}`, `{"phase":"deciding","done":2}`} {
		assert.Equal(t, planning.State{}, planning.Restore(bad), "%s", bad)
	}
}
