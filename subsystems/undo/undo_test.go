package undo_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"
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
	book "github.com/grapnel-go/grapnel/internal/undo"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/undo"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(t *testing.T) hook.Hook {
		return undo.New(undo.NewBook(t.TempDir(), filepath.Join(t.TempDir(), "undo")), nil)
	},
		&hooktest.Options{Golden: "testdata/descriptor.txt", Update: *update})
}

// world is a runtime with the subsystem, and with a tool that writes the file "f".
type world struct {
	t       *testing.T
	project string
	dir     string
	rt      *runtime.Runtime
	agent   *runtime.Agent

	mu     sync.Mutex
	events []hook.Event
}

type in struct {
	Text string `json:"text"`
}

func newWorld(t *testing.T, o *book.Options, gate hook.Hook, rules ...script.Rule) *world {
	t.Helper()
	w := &world{t: t, project: t.TempDir(), dir: filepath.Join(t.TempDir(), "undo")}
	put := func(_ context.Context, in in) (string, error) {
		return "put", os.WriteFile(filepath.Join(w.project, "f"), []byte(in.Text), 0o600)
	}
	tools := tool.Set(
		tool.New("put", "Put writes.", put, nil),
		tool.New("note", "Note writes elsewhere.", func(context.Context, in) (string, error) { return "noted", nil }, nil),
		tool.New("look", "Look reads.", func(context.Context, in) (string, error) { return "seen", nil }, &tool.Options{Annotations: message.Annotations{ReadOnly: true}}),
	)
	h, err := composite.New(&struct {
		Gate  hook.Hook
		Undo  *undo.Undo
		Tools hook.Hook
	}{gate, undo.New(book.NewBook(w.project, w.dir, o), &undo.Options{Except: []string{"note"}}), tools})
	require.NoError(t, err)
	w.rt = runtime.New(h, script.New(rules...), nil)
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, w.rt.Close(context.Background())) })
	w.agent, err = w.rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	return w
}

func (w *world) say(conv, text string) hook.TurnOutcome {
	w.t.Helper()
	c, err := w.agent.Conversation(w.t.Context(), conv)
	require.NoError(w.t, err)
	out, err := c.Send(w.t.Context(), message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, ev)
	}})
	require.NoError(w.t, err)
	return out
}

// told returns the texts of the diagnostics with a code.
func (w *world) told(code hook.DiagnosticCode) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		if ev.Kind == event.Diagnostic && ev.Detail().Code == code {
			out = append(out, ev.Text)
		}
	}
	return out
}

func (w *world) file() string {
	data, err := os.ReadFile(filepath.Join(w.project, "f"))
	if err != nil {
		return ""
	}
	return string(data)
}

func call(name, text string) script.Call {
	return script.Call{Tool: name, Args: message.JSON(`{"text":"` + text + `"}`)}
}

func TestAPersonUndoesATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, hook.Nop{}, script.Rule{Calls: []script.Call{call("put", "agent"), call("put", "agent 2")}}, script.Rule{Say: "done"})
	require.NoError(t, os.WriteFile(filepath.Join(w.project, "f"), []byte("before"), 0o600))
	require.NoError(t, w.say("ann", "write").Err)
	assert.NotEqual(t, "before", w.file())

	changed := w.file()
	assert.Equal(t, "would restore (1):\n  f\n/undo yes does it.", w.say("ann", "/undo").Text())
	assert.Equal(t, changed, w.file())
	assert.Equal(t, "restored (1):\n  f", w.say("ann", "/undo yes").Text())
	assert.Equal(t, "before", w.file())
	assert.Contains(t, w.say("ann", "/undo yes").Text(), "nothing to undo")
	assert.Equal(t, "would restore (1):\n  f\n/redo yes does it.", w.say("ann", "/redo").Text())
	assert.Equal(t, "restored (1):\n  f", w.say("ann", "/redo yes").Text())
	assert.Equal(t, changed, w.file())
	assert.Contains(t, w.say("ben", "/undo yes").Text(), "nothing to undo", "another conversation has no part in it")
	for _, wrong := range []string{"/undo no", "/undo 0", "/undo 1 2", "/redo 1", "/undo yes 1"} {
		assert.Contains(t, w.say("ann", wrong).Text(), "Nothing was changed. Write /undo", wrong)
	}
	assert.Empty(t, w.told(undo.CodeNotCovered))
}

// TestNoSnapshotIsTaken: for calls that change nothing, calls that are denied, and turns without calls.
func TestNoSnapshotIsTaken(t *testing.T) {
	t.Parallel()
	deny := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.Name() == "put" {
			return hook.DenyTool("not this one"), nil
		}
		return hook.ToolDecision{}, nil
	})
	w := newWorld(t, nil, deny, script.Rule{Calls: []script.Call{call("put", "x"), call("look", "x"), call("note", "x")}}, script.Rule{Say: "done"})
	require.NoError(t, w.say("ann", "write").Err)
	assert.NoDirExists(t, w.dir)
}

// TestATurnThatIsNotCoveredRuns: and the person is told once.
func TestATurnThatIsNotCoveredRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, hook.Nop{}, script.Rule{Calls: []script.Call{call("put", "1"), call("put", "2")}}, script.Rule{Calls: []script.Call{call("put", "3")}}, script.Rule{Say: "done"})
	require.NoError(t, os.WriteFile(w.dir, nil, 0o600)) // a file in the place of the directory
	require.NoError(t, w.say("ann", "write").Err)
	assert.Equal(t, "3", w.file())
	told := w.told(undo.CodeNotCovered)
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "this turn cannot be undone: ")
}

// TestACancelledTurnIsUndone: the second snapshot follows however the turn ends.
func TestACancelledTurnIsUndone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stop := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.Name() == "note" {
			cancel()
		}
		return hook.ToolDecision{}, nil
	})
	w := newWorld(t, nil, stop, script.Rule{Calls: []script.Call{call("put", "agent")}}, script.Rule{Calls: []script.Call{call("note", "")}}, script.Rule{Say: "done"})
	conv, err := w.agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	out, err := conv.Send(ctx, message.TextInput("write"), nil)
	require.NoError(t, err)
	assert.Equal(t, hook.StopCancelled, out.Stop)
	require.NoError(t, os.WriteFile(filepath.Join(w.project, "f"), []byte("a person's"), 0o600))
	assert.Equal(t, "left as they are (1):\n  f: it changed after that", w.say("ann", "/undo yes").Text())
	assert.Equal(t, "a person's", w.file())
}

// TestWhatIsLeftOutIsNamedOnce: until it changes.
func TestWhatIsLeftOutIsNamedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, hook.Nop{}, script.Rule{Calls: []script.Call{call("put", "1")}}, script.Rule{Say: "done"},
		script.Rule{Calls: []script.Call{call("put", "2")}}, script.Rule{Say: "done"})
	big, err := os.Create(filepath.Join(w.project, "big"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(1<<30))
	require.NoError(t, big.Close())
	require.NoError(t, w.say("ann", "write").Err)
	require.NoError(t, w.say("ann", "write").Err)
	assert.Equal(t, "2", w.file())
	assert.Equal(t, []string{"an undo will not bring back: big (it is larger than 64 MiB)"}, w.told(undo.CodeLeftOut))
}

// TestASlowSnapshotIsShown: as progress of the call that waits for it.
func TestASlowSnapshotIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, hook.Nop{}, script.Rule{Calls: []script.Call{call("put", "1")}}, script.Rule{Say: "done"})
	store := filepath.Join(w.dir, "store")
	require.NoError(t, os.MkdirAll(store, 0o700))
	lock := flock.New(filepath.Join(store, "lock"), flock.SetPermissions(0o600))
	require.NoError(t, lock.Lock()) // the snapshot waits for it
	conv, err := w.agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	var progress []string
	out, err := conv.Send(t.Context(), message.TextInput("write"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.CallProgress {
			progress = append(progress, ev.Detail().Tool+": "+ev.Text)
			assert.NoError(t, lock.Unlock())
		}
	}})
	require.NoError(t, err)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"put: taking a snapshot of the project first, so that this can be undone"}, progress)
	assert.Equal(t, "1", w.file())
}

func TestCommandsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range undo.Commands() {
		w := newWorld(t, nil, hook.Nop{}, script.Rule{Say: "the model"})
		assert.False(t, strings.Contains(w.say("ann", "/"+c.Name).Text(), "the model"), c.Name)
	}
	assert.Panics(t, func() { undo.New(nil, nil) })
}
