// Package subject runs the subjects of a scenario, which are the ways to do one unit
// of work that are compared, in benchmarks and once each in tests.
package subject

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Subject is one way to do the unit of work of a scenario.
type Subject struct {
	// Name as in that of the benchmark: "grapnel", "limit", "eino-react".
	Name string
	// New makes it ready, untimed, and returns the unit of work. Every call of that
	// does all of the work and checks its result; the error says what was wrong.
	New func(tb testing.TB) func() error
}

// Bench measures the subjects, each below its name.
func Bench(b *testing.B, subjects []Subject) {
	for _, s := range subjects {
		b.Run(s.Name, func(b *testing.B) {
			do := s.New(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Check has each subject do its work twice, so that one that does less the second
// time is found.
func Check(t *testing.T, subjects []Subject) {
	require.NotEmpty(t, subjects)
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) {
			do := s.New(t)
			require.NoError(t, do(), "the first time")
			assert.NoError(t, do(), "the second time")
		})
	}
}

// Catch checks that what the bad subjects do is found to be wrong, at the first or
// the second time.
func Catch(t *testing.T, bad []Subject) {
	require.NotEmpty(t, bad)
	for _, s := range bad {
		t.Run(s.Name, func(t *testing.T) {
			do := s.New(t)
			err := do()
			if err == nil {
				err = do()
			}
			assert.Error(t, err, "nobody has noticed")
		})
	}
}
