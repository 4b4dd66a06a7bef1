package storage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A search finds what people and models have said. What tools were called with and
// what they returned, it never shows, however one asks.

func TestSpecASearchFindsWordsAndShowsNoSecrets(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return mem.New(nil) },
		"sqlite": func(t *testing.T) store.Store { return rig.OpenSQLite(t, t.TempDir()) },
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rig.Plays(
				rig.Calls(rig.Call("c1", "echo", `{"s":"canary-argument"}`)), rig.Says("The harbour is in the north."),
				rig.Says("Boats lie in the harbour."), rig.Says("Nothing here."), rig.Says("They looked for a harbour."),
			)
			w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: open(t)}, rig.Box(rig.Named("echo")))
			w.Send("Where is the harbour?")
			w.Send("And the boats?")
			w.Send("Thank you")
			_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
			require.NoError(t, err)

			found, err := w.Runtime.Search(t.Context(), store.Query{Text: "harbour", Before: 2, After: 2})
			require.NoError(t, err)
			require.Len(t, found, 4)
			assert.Equal(t, "Where is the harbour?", found[0].Snippet, "the title comes first")
			assert.True(t, found[0].Archived, "what was compacted is found")
			i := slices.IndexFunc(found, func(m store.Match) bool { return m.Summary })
			require.GreaterOrEqual(t, i, 0, "and so is its summary")
			assert.Contains(t, found[i].Snippet, "They looked for a harbour.")
			shown := fmt.Sprintf("%+v", found)
			assert.Contains(t, shown, "echo", "the names of tools are shown")
			assert.NotContains(t, shown, "canary")

			for _, text := range []string{"canary", "canary*", "argument", "summary", "\"canary-argument\"", "s OR canary", "NEAR(canary)"} {
				found, err := w.Runtime.Search(t.Context(), store.Query{Text: text, Before: 8, After: 8})
				require.NoError(t, err, text)
				assert.NotContains(t, strings.ToLower(fmt.Sprintf("%+v", found)), "canary", text)
			}
			found, err = w.Runtime.Search(t.Context(), store.Query{Text: "harbour", Agent: "a", Sender: "bob"})
			require.NoError(t, err)
			assert.Empty(t, found)
		})
	}
}
