package limits_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/limits"
)

func TestMain(m *testing.M) {
	if os.Getenv("LIMITS_TEST_HOG") != "" {
		hog := make([]byte, 300<<20)
		for i := 0; i < len(hog); i += 4096 {
			hog[i] = 1
		}
		time.Sleep(time.Minute)
		os.Exit(int(hog[0]))
	}
	goleak.VerifyTestMain(m)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script string
		l      limits.Limits
		why    string
	}{
		"memory of a grandchild": {`LIMITS_TEST_HOG=1 "$0" & wait`, limits.Limits{Memory: 200 << 20}, "it used 0."},
		"processes":              {`for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 60 & done; wait`, limits.Limits{Processes: 8}, "more than 8 processes"},
		"neither":                {`sleep 0.5`, limits.Limits{Memory: 1 << 30, Processes: 50}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", tt.script, os.Args[0])
			require.NoError(t, cmd.Start())
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); cancel(); close(ended) }()
			why := limits.Watch(ctx, cmd.Process.Pid, tt.l, func() {
				_ = exec.Command("pkill", "-KILL", "-P", strconv.Itoa(cmd.Process.Pid)).Run()
				_ = cmd.Process.Kill()
			})
			<-ended
			assert.Contains(t, why, tt.why)
			assert.Equal(t, tt.why == "", why == "")
		})
	}
}

func TestDefault(t *testing.T) {
	t.Parallel()
	assert.Equal(t, limits.Limits{Memory: 6 << 30, Processes: 4096, FileSize: 16 << 30}, limits.Default(8<<30))
	assert.Positive(t, limits.Memory())
}

// BenchmarkUsage looks once at a tree of 50 processes.
func BenchmarkUsage(b *testing.B) {
	cmd := exec.CommandContext(b.Context(), "/bin/sh", "-c", `i=0; while [ $i -lt 50 ]; do sleep 60 & i=$((i+1)); done; wait`)
	require.NoError(b, cmd.Start())
	time.Sleep(300 * time.Millisecond)
	for b.Loop() {
		limits.ExceededForTest(cmd.Process.Pid, limits.Limits{Processes: 1000})
	}
	_ = exec.Command("pkill", "-KILL", "-P", strconv.Itoa(cmd.Process.Pid)).Run()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
