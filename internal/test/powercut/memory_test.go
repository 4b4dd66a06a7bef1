package powercut_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/powercut"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// What an agent was told is remembered survives as well.
func TestPowerCutsOfMemories(t *testing.T) {
	needs.Proof(t)
	rec := recordMemories(t)
	got := rec.cut(t, 0, len(rec.trace), atLeast(short.bad, 10))
	figure(t, "memories-writes", rec.promises, "acknowledged")
	figure(t, "memories-cuts", got.cuts, "")
	got.figures(t, "memories-")
}

// recordMemories records memories that come, are replaced and are forgotten.
func recordMemories(t *testing.T) recorded {
	t.Helper()
	dir := t.TempDir()
	r, err := powercut.Record(dir, nil)
	require.NoError(t, err)
	m, err := memory.Open(t.Context(), filepath.Join(dir, dbName), nil)
	require.NoError(t, err)
	env, kept := &hook.Env{}, map[string]string{}
	states := []string{listed(kept)}
	for i := range 60 {
		name := fmt.Sprint("memory ", i%25)
		if _, known := kept[name]; known && i%4 == 0 {
			_, err = m.Forget(t.Context(), env, memory.ForgetInput{Name: name})
			delete(kept, name)
		} else {
			kept[name] = words(1 + rand.IntN(6000))
			_, err = m.Remember(t.Context(), env, memory.RememberInput{Name: name, Content: kept[name]})
		}
		require.NoError(t, err)
		states = append(states, listed(kept))
		r.Mark(i + 1) // the state
	}
	require.NoError(t, m.OnClose(t.Context()))
	trace, err := r.Stop()
	require.NoError(t, err)
	return recorded{trace, len(states) - 1, func(ctx context.Context, dir string, acknowledged []int, _ bool) finding {
		return examineMemories(ctx, dir, states, append(slices.Clip(acknowledged), 0))
	}}
}

// listed returns the memories in one text, sorted.
func listed(kept map[string]string) string {
	var parts []string
	for name, content := range kept {
		parts = append(parts, "## "+name+"\n"+content)
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

func examineMemories(ctx context.Context, dir string, states []string, acknowledged []int) (f finding) {
	path, promised := filepath.Join(dir, dbName), slices.Max(acknowledged)
	began := time.Now()
	m, err := memory.Open(ctx, path, nil)
	if err != nil {
		f.breaks("open: %w", err)
		f.lost = promised
		return f
	}
	defer func() {
		if err := m.OnClose(ctx); err != nil {
			f.breaks("close: %w", err)
		}
	}()
	all, err := m.List(ctx)
	if f.took = time.Since(began); err != nil {
		f.breaks("list: %w", err)
		return f
	}
	kept := map[string]string{}
	for _, r := range all {
		kept[r.Name] = r.Content
	}
	is := listed(kept)
	n := -1
	for i, was := range states {
		if was == is {
			n = i
		}
	}
	if n < 0 {
		f.breaks("memories as they have never been: %d of them", len(all))
	}
	f.lost += max(0, promised-max(n, 0))
	if err := integrity(ctx, path); err != nil {
		f.broken = append(f.broken, err)
	}
	if _, err := m.Remember(ctx, &hook.Env{}, memory.RememberInput{Name: "after", Content: "The power came back."}); err != nil {
		f.breaks("use: %w", err)
	}
	return f
}
