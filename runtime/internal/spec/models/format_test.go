package models_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/structured"
)

// report is an answer of type report.
type report struct {
	City    string `json:"city" hook:"minlen=1"`
	Degrees int    `json:"degrees" hook:"min=-90,max=60"`
}

const reportSchema = `{"type":"object","properties":{"city":{"type":"string","minLength":1},"degrees":{"type":"integer","minimum":-90,"maximum":60}},"required":["city","degrees"],"additionalProperties":false}`

func sendAs[T any](t *testing.T, w *rig.World) (T, hook.TurnOutcome, error) {
	t.Helper()
	return runtime.SendAs(t.Context(), w.Conv, typed.ValueOf[T](), message.TextInput("How is it?"), nil)
}

func TestSpecSendAs(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says(`{"city":"","degrees":9}`), rig.Says(`{"city":"Nyborg","degrees":9}`), rig.Says("Bye."))
	w := rig.Start(t, m, structured.New(&structured.Options{Native: func(string) bool { return true }}))
	got, out, err := sendAs[report](t, w)
	require.NoError(t, err)
	assert.Equal(t, report{"Nyborg", 9}, got)
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, message.ResponseFormat{JSON: true, Schema: reportSchema, Name: "report"}, m.Requests[0].Model.Format)
	w.Send("Thanks.")
	assert.Zero(t, m.Requests[2].Model.Format, "the next turn is the agent's")
}

// Without a subsystem that checks, the answer is decoded strictly.
func TestSpecSendAsDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		reply message.ModelStream
		want  string
	}{
		{"valid", rig.Says(`{"city":"Nyborg","degrees":9}`), ""},
		{"prose", rig.Says("It rains."), "runtime: no answer of that type: models_test.report: "},
		{"wrong", rig.Says(`{"city":"Nyborg","degrees":99}`), "models_test.report: invalid argument degrees: must lie between -90 and 60"},
		{"more", rig.Says(`{"city":"Nyborg","degrees":9,"x":1}`), "subsystems/structured in the composite has models correct such answers"},
		{"cut", rig.Finishes(message.FinishLength), "runtime: no answer of that type: the turn ended for the reason no_action"},
		{"blank", rig.Says(""), "the turn ended for the reason no_action"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := sendAs[report](t, rig.Start(t, rig.Plays(tt.reply)))
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
		_, out, err := sendAs[report](t, rig.Start(t, rig.Plays(rig.Says("1"), rig.Says("2"), rig.Says("3")), structured.New(nil)))
		var bad *structured.Error
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, out.Err, err)
	})
}

// A turn that asks for JSON still does after its process has died.
func TestSpecAFormatOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow := rig.NewGate("look")
	slow.Annotations.ReadOnly = true
	checks := func() hook.Hook {
		return structured.New(&structured.Options{Native: func(string) bool { return true }})
	}
	format := message.ResponseFormat{JSON: true, Schema: reportSchema}
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "look", `{}`))), runtime.Options{}, rig.Box(slow.Tool), checks())
	first.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		o.Model.Format = format
		return dialog.Send(ctx, first.Conv, message.TextInput("1"), o)
	})
	first.Until(event.TurnStart, 1)
	<-slow.Reached
	first.Dies()
	close(slow.Open)

	m := rig.Plays(rig.Says("It rains."), rig.Says(`{"city":"Nyborg","degrees":9}`), rig.Says("Bye."))
	second := rig.Boot(t, dir, m, runtime.Options{}, rig.Box(slow.Tool), checks())
	second.Resumes()
	out := second.Ends()
	require.NoError(t, cmp.Or(out.Returned, out.Err))
	assert.Equal(t, `{"city":"Nyborg","degrees":9}`, out.Text())
	assert.Equal(t, format, m.Requests[0].Model.Format)
	after, err := second.Conv.Send(t.Context(), message.TextInput("2"), nil)
	require.NoError(t, errors.Join(err, after.Err))
	assert.Zero(t, m.Requests[2].Model.Format, "the next turn is the agent's")
}
