package sandbox_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// BenchmarkStart compares a command in the sandbox with the same one outside of it, in a project of 10,000 files in 1,000 directories.
// Commands come in turns, with a pause before each, as a model's do. It reports the medians, and by how much they differ: at most 8 ms
// is the budget.
func BenchmarkStart(b *testing.B) {
	p := newPlace(b)
	for i := range 10_000 {
		p.write(b, filepath.Join(p.project, fmt.Sprint("d", i/100), fmt.Sprint("e", i/10%10), fmt.Sprint("f", i%10)), "x")
	}
	p.run(b, sandbox.Grant{}, "git init -q")
	var plain, confined []time.Duration
	timed := func(g sandbox.Grant) time.Duration {
		time.Sleep(30 * time.Millisecond)
		began := time.Now()
		proc, err := p.s.Start(sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", ":"}}, g)
		require.NoError(b, err)
		<-proc.Done()
		return time.Since(began)
	}
	for b.Loop() {
		plain = append(plain, timed(sandbox.Grant{Outside: true}))
		confined = append(confined, timed(sandbox.Grant{}))
	}
	outside, inside := median(plain), median(confined)
	b.ReportMetric(float64(outside.Microseconds())/1000, "plain-ms")
	b.ReportMetric(float64((inside-outside).Microseconds())/1000, "more-ms")
	b.ReportMetric(0, "ns/op")
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}
