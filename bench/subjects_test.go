package bench_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench"
)

// Every subject does every work twice: the second time is what is measured.
func TestEverySubjectDoesTheWork(t *testing.T) {
	for _, s := range scenarios {
		for _, c := range s.cases {
			for _, subject := range bench.Subjects {
				if bench.Lacks(s.name, subject.Name) != "" {
					continue
				}
				t.Run(s.name+"/"+c.join(subject.Name), func(t *testing.T) {
					r, err := subject.Start(t.Context(), c.turn)
					require.NoError(t, err)
					defer closing(t, r)
					require.NoError(t, r.Send(t.Context(), 0))
					require.NoError(t, r.Send(t.Context(), 0))
				})
			}
		}
	}
}

func TestEverySubjectTalksInManyConversations(t *testing.T) {
	for _, store := range []string{"memory", "sqlite"} {
		for _, subject := range bench.Subjects {
			if bench.Lacks("Concurrent/store="+store, subject.Name) != "" {
				continue
			}
			t.Run(store+"/"+subject.Name, func(t *testing.T) {
				r, err := subject.Start(t.Context(), concurrent(t, store))
				require.NoError(t, err)
				defer closing(t, r)
				require.NoError(t, atOnce(t.Context(), r, 3*conversations))
			})
		}
	}
}

// Who is left out is one that is known, with a reason, and is named once.
func TestWhoIsLeftOut(t *testing.T) {
	known, cases := map[string]bool{}, map[string]bool{"Agents": true, "Concurrent/store=memory": true, "Concurrent/store=sqlite": true}
	for _, s := range bench.Subjects {
		assert.False(t, known[s.Name], "two are called %s", s.Name)
		known[s.Name] = true
	}
	for _, s := range scenarios {
		cases[s.name] = true
	}
	told := map[[2]string]bool{}
	for _, l := range bench.Missing {
		if !cases[l.Scenario] {
			continue // not of turns
		}
		at := [2]string{l.Scenario, l.Subject}
		assert.True(t, known[l.Subject], l)
		assert.NotEmpty(t, l.Reason, l)
		assert.False(t, told[at], l)
		told[at] = true
	}
}
