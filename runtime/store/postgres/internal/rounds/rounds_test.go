package rounds_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/rounds"
)

// slow are rounds of a second each, unless their context ends before.
type slow struct {
	rounds.Rounds[int, map[string]int]
	took [][]string
}

func (s *slow) do(ctx context.Context, in map[string]int) (map[string]int, error) {
	var names []string
	out := map[string]int{}
	for name, n := range in {
		names, out[name] = append(names, name), 2*n
	}
	slices.Sort(names)
	s.took = append(s.took, names) // two rounds at the same time would race
	select {
	case <-time.After(time.Second):
		return out, nil
	case <-ctx.Done():
		return nil, errDown
	}
}

var errDown = errors.New("down")

// call is a call that begins at some moment.
type call struct {
	after, within time.Duration // 0 is no deadline
	cancel        time.Duration // 0 is never
	err           error
}

func TestRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		calls map[string]call
		took  [][]string
	}{
		{"who comes during a round is in the next one", map[string]call{"a": {}, "b": {after: 100 * time.Millisecond}, "c": {after: 900 * time.Millisecond}, "d": {after: 1500 * time.Millisecond}}, [][]string{{"a"}, {"b", "c"}, {"d"}}},
		{"a round ends with its first deadline, and says why", map[string]call{
			"a": {}, "b": {after: 100 * time.Millisecond, within: time.Second, err: errDown}, "c": {after: 200 * time.Millisecond, within: 10 * time.Second, err: errDown},
		}, [][]string{{"a"}, {"b", "c"}}},
		{"who waits and is cancelled goes, and the others do not", map[string]call{
			"a": {}, "b": {after: 100 * time.Millisecond}, "c": {after: 200 * time.Millisecond, cancel: 300 * time.Millisecond, err: context.Canceled},
		}, [][]string{{"a"}, {"b", "c"}}},
		{"the first of a round does it even so", map[string]call{
			"a": {}, "b": {after: 100 * time.Millisecond, cancel: 300 * time.Millisecond}, "c": {after: 200 * time.Millisecond},
		}, [][]string{{"a"}, {"b", "c"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s slow
				var all sync.WaitGroup
				for name, call := range c.calls {
					all.Go(func() {
						time.Sleep(call.after)
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if call.within > 0 {
							ctx, cancel = context.WithTimeout(ctx, call.within)
							defer cancel()
						}
						if call.cancel > 0 {
							time.AfterFunc(call.cancel, cancel)
						}
						out, err := s.Join(ctx, name, len(name), s.do)
						assert.Equal(t, call.err, err, name)
						if call.err == nil {
							assert.Equal(t, 2, out[name], name)
						}
					})
				}
				all.Wait()
				assert.Equal(t, c.took, s.took)
			})
		})
	}
}
