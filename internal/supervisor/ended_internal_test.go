//go:build unix

package supervisor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestACommandStartsWhileTheSupervisorEnds: the next supervisor starts it.
func TestACommandStartsWhileTheSupervisorEnds(t *testing.T) {
	t.Parallel()
	s := New()
	defer s.Close() //nolint:errcheck // a second supervisor, which has nothing left
	for range 5 {
		p, err := s.Start(Command{Path: "/bin/sh", Args: []string{"sh", "-c", ":"}})
		require.NoError(t, err)
		<-p.Done()
		require.NoError(t, s.helper.conn.Close())
	}
}
