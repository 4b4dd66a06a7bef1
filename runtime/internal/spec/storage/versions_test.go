package storage_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// queued puts jobs into a new store: kind k, with their versions as keys, and one of version 1 of another contract.
func queued(t *testing.T, versions ...int) *mem.Store {
	t.Helper()
	s := mem.New(nil)
	for _, v := range versions {
		_, err := s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: string(rune('0' + v)), Version: v}, Contract: hook.ContractVersion})
		require.NoError(t, err)
	}
	_, err := s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "foreign", Version: 1}, Contract: hook.ContractVersion + 1})
	require.NoError(t, err)
	return s
}

// TestSpecAJobRunsUnderTheVersionsThatItsHandlerTakes: older and newer ones stay queued for a process that takes them, keep no
// other job waiting, and are told of once.
func TestSpecAJobRunsUnderTheVersionsThatItsHandlerTakes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		versions runtime.JobVersions
		done     []string
		left     []string
	}{
		"its own":       {runtime.JobVersions{Version: 3}, []string{"3"}, []string{"1", "2", "4", "foreign"}},
		"and older":     {runtime.JobVersions{Version: 3, Accepts: 2}, []string{"2", "3"}, []string{"1", "4", "foreign"}},
		"said nothing":  {runtime.JobVersions{}, []string{"1"}, []string{"2", "3", "4", "foreign"}},
		"all but later": {runtime.JobVersions{Version: 4, Accepts: 1}, []string{"1", "2", "3", "4"}, []string{"foreign"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var done []string
				o := &runtime.Options{Store: queued(t, 1, 2, 3, 4), Jobs: handles("k", func(_ context.Context, j runtime.JobRun) error {
					done = append(done, j.Key)
					return nil
				})}
				o.Jobs.Workers, o.Jobs.Versions = 1, map[string]runtime.JobVersions{"k": tc.versions}
				told := 0
				w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, o, &rig.Adds{Event: func(ev hook.Event) {
					if ev.Kind == event.Diagnostic && ev.Detail().Code == event.CodeJobMismatch {
						told++
					}
				}})
				time.Sleep(time.Hour) // however often they are looked for
				synctest.Wait()
				assert.ElementsMatch(t, tc.done, done)
				waiting, err := w.Runtime.Jobs(t.Context(), store.JobFilter{Statuses: []store.JobStatus{store.JobQueued}})
				require.NoError(t, err)
				var left []string
				for _, j := range waiting {
					left = append(left, j.Key)
					assert.Zero(t, j.Attempts, "it was not tried")
				}
				assert.ElementsMatch(t, tc.left, left)
				assert.Equal(t, len(tc.left), told, "each once")
				require.NoError(t, w.Runtime.Close(t.Context()))
			})
		})
	}
}

// TestSpecAJobHasTheVersionUnderWhichItWasQueued: that of its handler, and of the contract.
func TestSpecAJobHasTheVersionUnderWhichItWasQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &runtime.Options{Jobs: handles("k", func(context.Context, runtime.JobRun) error { return nil })}
		o.Jobs.Versions = map[string]runtime.JobVersions{"k": {Version: 7}}
		w := rig.StartWith(t, rig.Plays(rig.Says("ok")), hook.AgentConfig{Name: "a"}, o, &rig.Adds{
			Policies: func(turn *hook.Turn) ([]hook.Policy, error) {
				return nil, turn.Host().Enqueue(t.Context(), hook.Job{Kind: "k", Key: "1"})
			},
		})
		w.Send("go")
		synctest.Wait()
		all, err := w.Runtime.Jobs(t.Context(), store.JobFilter{})
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Equal(t, 7, all[0].Version)
		assert.Equal(t, hook.ContractVersion, all[0].Contract)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}
