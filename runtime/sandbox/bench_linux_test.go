package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// BenchmarkStart compares a command in the sandbox with the same one outside of it, in a project of 10,000 files in 1,000 directories.
func BenchmarkStart(b *testing.B) {
	p := newPlace(b)
	for i := range 10_000 {
		p.write(b, filepath.Join(p.project, fmt.Sprint("d", i/100), fmt.Sprint("e", i/10%10), fmt.Sprint("f", i%10)), "x")
	}
	p.run(b, sandbox.Grant{}, "git init -q")
	for name, g := range map[string]sandbox.Grant{"plain": {Outside: true}, "sandbox": {}} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				proc, err := p.s.Start(sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", ":"}}, g)
				require.NoError(b, err)
				<-proc.Done()
			}
		})
	}
	_ = os.Getpid()
}
