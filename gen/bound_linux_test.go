package gen_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// bound runs this test once more in a process that permissions bind, although its user is the one whom they do not bind.
func bound(t *testing.T) {
	t.Helper()
	const overrides, reads = 1, 2 // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
	const child = "GRAPNEL_TEST_BOUND"
	require.Empty(t, os.Getenv(child), "permissions do not bind the child either")
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	var out []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread has lost what it cannot get back
		for _, c := range []uintptr{overrides, reads} {
			if err = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return
			}
		}
		out, err = cmd.CombinedOutput()
	}()
	<-done
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name()+" ")
}
