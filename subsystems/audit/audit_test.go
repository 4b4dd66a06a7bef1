package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/audit"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(t *testing.T) hook.Hook {
		return audit.New(audit.Options{Log: audit.NewLog(filepath.Join(t.TempDir(), "audit"), nil)})
	}, &hooktest.Options{
		Agent:  hook.AgentConfig{}.WithSection("audit", `{"required":true}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

const rules = `rules:
- {when: {step: 1}, calls: [{tool: put, args: {text: canary-of-the-arguments}}, {tool: no, args: {}}]}
- {when: always, say: canary-of-the-answer}
`

// world is a runtime with the subsystem over a log, and a rule that denies one tool.
type world struct {
	t    *testing.T
	dir  string
	rt   *runtime.Runtime
	ran  int
	conv map[string]*runtime.Conversation
}

func newWorld(t *testing.T, o audit.Options, sections map[string]message.JSON) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "audit"), conv: map[string]*runtime.Conversation{}}
	o.Log = audit.NewLog(w.dir, nil)
	deny := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.Name() == "no" {
			for _, to := range []hook.Visibility{event.VisibleDebug, event.VisibleAudit} {
				c.Host().Emit(context.Background(), hook.Diagnostic{Code: "rules." + hook.DiagnosticCode(to), Text: "canary-of-a-diagnostic", Visibility: to}.Event())
			}
			return hook.DenyTool("not this one"), nil
		}
		return hook.ToolDecision{}, nil
	})
	type in struct {
		Text string `json:"text,omitzero"`
	}
	tools := tool.Set(
		tool.New("put", "Put puts.", func(context.Context, in) (string, error) { w.ran++; return "canary-of-the-result", nil }, nil),
		tool.New("no", "No is denied.", func(context.Context, in) (string, error) { return "", errors.New("it ran") }, nil),
	)
	h, err := composite.New(&struct {
		Audit *audit.Audit
		Rules hook.Hook
		Tools hook.Hook
	}{audit.New(o), deny, tools})
	require.NoError(t, err)
	model, err := script.Parse("rules.yaml", []byte(rules))
	require.NoError(t, err)
	w.rt = runtime.New(h, model, nil)
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, w.rt.Close(context.Background())) })
	for name, section := range sections {
		cfg := hook.AgentConfig{Name: name}
		if section != "" {
			cfg = cfg.WithSection("audit", section)
		}
		agent, err := w.rt.Register(t.Context(), cfg)
		require.NoError(t, err)
		w.conv[name], err = agent.Conversation(t.Context(), "ann")
		require.NoError(t, err)
	}
	return w
}

func (w *world) send(agent string) hook.TurnOutcome {
	w.t.Helper()
	out, _ := w.conv[agent].Send(w.t.Context(), message.TextInput("canary-of-the-input"), nil)
	return out
}

func (w *world) records() (out []audit.Record, raw string) {
	w.t.Helper()
	var all strings.Builder
	for data, err := range audit.NewLog(w.dir, nil).Records() {
		require.NoError(w.t, err)
		var r audit.Record
		require.NoError(w.t, json.Unmarshal(data, &r))
		out = append(out, r)
		all.Write(data)
	}
	return out, all.String()
}

// TestARecordSaysWhatHappenedAndWhoDecided: in order, without contents; an agent without the section has none.
func TestARecordSaysWhatHappenedAndWhoDecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t, audit.Options{Project: "here"}, map[string]message.JSON{"seen": `{}`, "unseen": ""})
	w.send("unseen")
	assert.NoDirExists(t, w.dir)
	require.NoError(t, w.send("seen").Err)
	all, raw := w.records()
	var got []string
	for i, r := range all {
		assert.Equal(t, int64(i+1), r.N)
		assert.Equal(t, "seen", r.Agent)
		assert.Equal(t, "here", r.Project)
		assert.NotEmpty(t, r.Turn)
		got = append(got, strings.Join(strings.Fields(r.Kind+" "+r.Tool+" "+r.Decision+" "+string(r.Stop)+" "+r.By), " "))
	}
	assert.ElementsMatch(t, []string{"turn_start", "call_start put", "call_result put executed", "call_start no", "diagnostic rules.audit", "call_result no denied Rules", "turn_end completed"}, got)
	assert.NotContains(t, raw, "canary")
	for _, r := range all {
		if r.Kind == "call_start" && r.Tool == "put" {
			assert.Len(t, r.Digests.Args, 64)
		}
	}
}

// TestContentsOnRequest: the section, or the operator for all agents, asks for them.
func TestContentsOnRequest(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{
		"section": newWorld(t, audit.Options{}, map[string]message.JSON{"a": `{"contents":true}`}),
		"all":     newWorld(t, audit.Options{All: &audit.Section{Contents: true}}, map[string]message.JSON{"a": ""}),
	} {
		w.send("a")
		_, raw := w.records()
		for _, canary := range []string{"canary-of-the-input", "canary-of-the-arguments", "canary-of-the-result", "canary-of-the-answer"} {
			assert.Contains(t, raw, canary, name)
		}
	}
}

// TestWithoutARecordNothingRuns: where it is required. When records can be written again, the first says that some are missing.
func TestWithoutARecordNothingRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, audit.Options{}, map[string]message.JSON{"strict": `{"required":true}`, "loose": `{}`})
	require.NoError(t, os.WriteFile(w.dir, nil, 0o600)) // a file in the place of the directory
	out := w.send("strict")
	assert.Zero(t, w.ran)
	assert.NotEqual(t, "canary-of-the-result", out.Text())
	out = w.send("strict")
	require.Error(t, out.Err)
	assert.Contains(t, out.Err.Error(), "the audit record, which the agent requires, cannot be written")
	assert.Zero(t, w.ran)
	w.send("loose")
	assert.Equal(t, 1, w.ran)

	require.NoError(t, os.Remove(w.dir))
	require.NoError(t, w.send("strict").Err)
	assert.Equal(t, 2, w.ran)
	all, _ := w.records()
	assert.Equal(t, "gap", all[0].Kind)
	assert.Contains(t, all[0].Decision, "audit")
}
