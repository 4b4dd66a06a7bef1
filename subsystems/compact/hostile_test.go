package compact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
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
