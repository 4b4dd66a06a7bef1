package supervisor_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/jail"
	"github.com/grapnel-go/grapnel/internal/supervisor"
)

// BenchmarkJail compares a command with the same one in a jail.
func BenchmarkJail(b *testing.B) {
	s := newSupervisor(b)
	base := b.TempDir()
	for name, spec := range map[string]*jail.Spec{"plain": nil, "jail": whole(base)} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				p, err := s.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"sh", "-c", ":"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/", Jail: spec})
				require.NoError(b, err)
				<-p.Done()
			}
		})
	}
}
