package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/compact"
)

// first returns the first message of the stored history.
func (w *talk) first() string {
	w.t.Helper()
	history, err := w.store.Messages(w.t.Context(), w.conv.ID())
	require.NoError(w.t, err)
	return history[0].Text()
}

// A history that is summed up in parts is checked part by part.
func TestEachPartOfASummaryIsChecked(t *testing.T) {
	t.Parallel()
	v := &vendor{window: 100_000}
	v.reply = func(req message.ModelRequest) message.ModelStream {
		if isSummary(req) {
			return v.says(req, "Work was done.")
		}
		return v.says(req, "ok")
	}
	w := newTalk(t, v, nil, window(100_000))
	w.send("change alpha.go " + strings.Repeat("first ", 1000))
	w.send("change omega.go " + strings.Repeat("second ", 1000))
	w.send("and?")
	_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1, MaxRequest: 8000})
	require.NoError(t, err)
	assert.Contains(t, w.first(), "alpha.go")
	assert.Contains(t, w.first(), "omega.go", "the name that only the second part has")
}

// A summary that fails is not asked for again in each step of the turn, as long as the request
// still has room without it.
func TestASummaryThatFailsIsTriedOncePerTurn(t *testing.T) {
	t.Parallel()
	asked, step := 0, 0
	v := &vendor{window: 6000}
	v.reply = func(req message.ModelRequest) message.ModelStream {
		if isSummary(req) {
			asked++
			return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, errors.New("no summaries here")) }
		}
		if step++; strings.HasPrefix(lastUser(req), "work") && step%6 != 0 {
			return calls("look", "{}", fmt.Sprint("call_", step))
		}
		return v.says(req, "ok")
	}
	look := tool.Set(tool.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "nothing", nil }, nil))
	w := newTalk(t, v, &compact.Options{Share: 0.5, Clear: 0.9}, window(6000), look)
	for i := range 7 {
		w.send(fmt.Sprint("turn ", i, strings.Repeat(" more", 300)))
	}
	asked, step = 0, 0
	w.send("work")
	assert.Equal(t, 6, step, "the turn has steps")
	assert.Equal(t, 1, asked, "summaries that were asked for in the turn")
	assert.Zero(t, v.refused)
}

func lastUser(req message.ModelRequest) string {
	for i := req.Messages.Len() - 1; i >= 0; i-- {
		if m := req.Messages.At(i); m.Role == message.RoleUser {
			return m.Text()
		}
	}
	return ""
}
