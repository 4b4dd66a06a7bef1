package runtime_test

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	typed "github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/structured"
)

// report is an answer of type report.
type report struct {
	City    string `json:"city" hook:"minlen=1"`
	Degrees int    `json:"degrees" hook:"min=-90,max=60"`
}

const reportSchema = `{"type":"object","properties":{"city":{"type":"string","minLength":1},"degrees":{"type":"integer","minimum":-90,"maximum":60}},"required":["city","degrees"],"additionalProperties":false}`

func sendAs[T any](t *testing.T, w *world) (T, hook.TurnOutcome, error) {
	t.Helper()
	return runtime.SendAs(t.Context(), w.conv, typed.ValueOf[T](), message.TextInput("How is it?"), nil)
}

func TestSpecSendAs(t *testing.T) {
	t.Parallel()
	m := plays(says(`{"city":"","degrees":9}`), says(`{"city":"Nyborg","degrees":9}`), says("Bye."))
	w := start(t, m, structured.New(&structured.Options{Native: func(string) bool { return true }}))
	got, out, err := sendAs[report](t, w)
	require.NoError(t, err)
	assert.Equal(t, report{"Nyborg", 9}, got)
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, message.ResponseFormat{JSON: true, Schema: reportSchema, Name: "report"}, m.requests[0].Model.Format)
	w.send("Thanks.")
	assert.Zero(t, m.requests[2].Model.Format, "the next turn is the agent's")
}

// Without a subsystem that checks, the answer is decoded strictly.
func TestSpecSendAsDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		reply message.ModelStream
		want  string
	}{
		{"valid", says(`{"city":"Nyborg","degrees":9}`), ""},
		{"prose", says("It rains."), "runtime: no answer of that type: runtime_test.report: "},
		{"wrong", says(`{"city":"Nyborg","degrees":99}`), "runtime_test.report: invalid argument degrees: must lie between -90 and 60"},
		{"more", says(`{"city":"Nyborg","degrees":9,"x":1}`), "subsystems/structured in the composite has models correct such answers"},
		{"cut", finishes(message.FinishLength), "runtime: no answer of that type: the turn ended for the reason no_action"},
		{"blank", says(""), "the turn ended for the reason no_action"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := sendAs[report](t, start(t, plays(tt.reply)))
			if tt.want == "" {
				require.NoError(t, err)
				assert.Equal(t, report{"Nyborg", 9}, got)
				return
			}
			require.ErrorIs(t, err, runtime.ErrAnswer)
			require.ErrorContains(t, err, tt.want)
			assert.Zero(t, got)
		})
	}
	t.Run("rejected", func(t *testing.T) {
		t.Parallel()
		_, out, err := sendAs[report](t, start(t, plays(says("1"), says("2"), says("3")), structured.New(nil)))
		var bad *structured.Error
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, out.Err, err)
	})
}

// A turn that asks for JSON still does after its process has died.
func TestSpecAFormatOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow := newGate("look")
	slow.Annotations.ReadOnly = true
	checks := func() hook.Hook {
		return structured.New(&structured.Options{Native: func(string) bool { return true }})
	}
	format := message.ResponseFormat{JSON: true, Schema: reportSchema}
	first := boot(t, dir, plays(calls(want{"c1", "look", `{}`})), runtime.Options{}, box(slow.tool), checks())
	first.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		o.Model.Format = format
		return dialog.Send(ctx, first.conv, message.TextInput("1"), o)
	})
	first.until(event.TurnStart, 1)
	<-slow.reached
	first.dies()
	close(slow.open)

	m := plays(says("It rains."), says(`{"city":"Nyborg","degrees":9}`), says("Bye."))
	second := boot(t, dir, m, runtime.Options{}, box(slow.tool), checks())
	second.resumes()
	out := second.ends()
	require.NoError(t, cmp.Or(out.err, out.Err))
	assert.Equal(t, `{"city":"Nyborg","degrees":9}`, out.Text())
	assert.Equal(t, format, m.requests[0].Model.Format)
	after, err := second.conv.Send(t.Context(), message.TextInput("2"), nil)
	require.NoError(t, errors.Join(err, after.Err))
	assert.Zero(t, m.requests[2].Model.Format, "the next turn is the agent's")
}
