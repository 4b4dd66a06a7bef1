package hook_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// filler sets fields to distinct values that are not zero.
type filler struct {
	t *testing.T
	n int
}

func (f *filler) text() string { f.n++; return fmt.Sprintf("text %d", f.n) }

// structure sets every exported field of *to that JSON has.
func (f *filler) structure(to any) {
	v := reflect.ValueOf(to).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.IsExported() && field.Tag.Get("json") != "-" {
			f.field(field.Name, v.FieldByIndex(field.Index))
		}
	}
}

func (f *filler) field(name string, v reflect.Value) {
	f.n++
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		*to = time.Date(2026, 1, 2, 3, 4, f.n, 0, time.UTC)
	case *time.Duration:
		*to = time.Duration(f.n) * time.Microsecond
	case *message.JSON:
		*to = message.JSON(fmt.Sprintf(`{"n":%d}`, f.n))
	case *message.List[string]:
		*to = message.ListOf(f.text(), f.text())
	case *message.ToolResult:
		*to = message.FailedResult(message.FailureKind(f.text()), f.text())
	case *message.Usage:
		f.structure(to)
	case *hook.Point:
		*to = point.BeforeTool
	case *hook.Inquiry:
		f.structure(to)
	case *hook.Response:
		f.structure(to)
	case *message.List[hook.Question]:
		*to = message.ListOf(made[hook.Question](f))
	case *message.List[hook.Choice]:
		*to = message.ListOf(made[hook.Choice](f), made[hook.Choice](f))
	case *message.List[hook.Given]:
		*to = message.ListOf(made[hook.Given](f))
	default:
		f.basic(name, v)
	}
}

func (f *filler) basic(name string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(f.text())
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(f.n))
	case v.CanUint():
		v.SetUint(uint64(f.n))
	default:
		f.t.Fatalf("field %s: the test has no value of %v", name, v.Type())
	}
}

func made[T any](f *filler) (v T) { f.structure(&v); return v }

func roundTrip(t *testing.T, ev hook.Event) (back hook.Event) {
	t.Helper()
	data, err := json.Marshal(ev)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &back))
	return back
}

func TestEveryFieldOfAnEventIsReadAsItWasWritten(t *testing.T) {
	f := &filler{t: t}
	ev, detail := made[hook.Event](f), made[hook.EventDetail](f)
	back := roundTrip(t, ev.WithDetail(detail))
	assert.Equal(t, detail, back.Detail())
	assert.Equal(t, ev.WithDetail(detail), back)
}

func TestEveryFieldOfAHookRunIsReadAsItWasWritten(t *testing.T) {
	run := made[hook.Run](&filler{t: t})
	run.ID = "" // that of a record, which an event does not have
	back := roundTrip(t, run.Event())
	got, ok := back.Run()
	assert.True(t, ok)
	assert.Equal(t, run, got)
	assert.Equal(t, run.Event(), back)
}
