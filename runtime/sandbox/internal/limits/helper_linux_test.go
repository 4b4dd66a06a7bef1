package limits

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// helperVariable makes the test's program do something else: its value is an action and a number.
const helperVariable = "GRAPNEL_LIMITS_HELPER"

// patience ends a test that hangs.
const patience = 30 * time.Second

// help does what a helper does, says "ready", and ends when its input ends. It returns the exit code.
func help(what string) int {
	action, text, _ := strings.Cut(what, " ")
	n, _ := strconv.Atoi(text)
	switch action {
	case "hog": // uses n MiB
		held, err := unix.Mmap(-1, 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		touch(held, err)
	case "share": // maps n MiB of file 3, and has three processes that do too
		held, err := unix.Mmap(3, 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		touch(held, err)
	case "orphan": // adopts a process whose parent has ended
		err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		if err == nil {
			err = exec.Command("sh", "-c", "(sleep 60 &)").Run()
		}
		if err != nil {
			return 2
		}
	case "write": // writes n MiB to standard output, with the limits of 1 MiB for a file
		for _, l := range Rlimits(Limits{FileSize: 1 << 20}) {
			if unix.Setrlimit(l.Resource, &unix.Rlimit{Cur: l.Max, Max: l.Max}) != nil {
				return 2
			}
		}
		if _, err := os.Stdout.Write(make([]byte, n<<20)); err != nil {
			fmt.Fprint(os.Stderr, err)
			return 1
		}
		return 0
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func touch(held []byte, err error) {
	if err != nil {
		fmt.Println(err)
	}
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
}

// helper starts a helper in a group of processes of its own, which ends with the test, and waits until it is ready.
func helper(t testing.TB, what string, files ...*os.File) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), helperVariable+"="+what)
	c.ExtraFiles = files
	r := started(t, c)
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return c
}

// started starts a command whose group of processes is killed at the end of the test.
func started(t testing.TB, c *exec.Cmd) io.Reader {
	t.Helper()
	_, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid = true
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
	return out
}

// watched watches a process until a limit is reached, kills its group, and returns the sentence.
func watched(t *testing.T, pid int, l Limits) string {
	t.Helper()
	why := make(chan string, 1)
	go Watch(t.Context(), pid, l, func(text string) {
		assert.NoError(t, syscall.Kill(-pid, syscall.SIGKILL))
		why <- text
	})
	select {
	case text := <-why:
		return text
	case <-time.After(patience):
		t.Fatal("the watcher has seen nothing")
		return ""
	}
}
