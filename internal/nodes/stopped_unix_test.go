//go:build unix

package nodes_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// stopTTL is the TTL of the process that is stopped. It is long enough that a loaded machine is not late by itself.
const stopTTL = 3 * time.Second

// TestStopped: a process that was stopped for longer than its TTL counts its leases as lost before it does anything else.
// The process is this test again; see member.
func TestStopped(t *testing.T) {
	t.Parallel()
	needs.Proof(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStoppedMember$", "-test.v")
	cmd.Env = append(os.Environ(), "GRAPNEL_TEST_MEMBER=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe() // its end ends the process
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	next := func() string {
		for lines.Scan() {
			if text, told := strings.CutPrefix(lines.Text(), "member: "); told {
				return text
			}
		}
		return "the process has ended"
	}
	assert.Equal(t, "beat", next())
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(stopTTL + stopTTL/3)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	assert.Equal(t, "lost", next(), "before it sends a beat")
	require.NoError(t, in.Close())
	for text := next(); text != "the process has ended"; text = next() {
		assert.Equal(t, "beat", text)
	}
	assert.NoError(t, cmd.Wait())
}

// TestStoppedMember is the process of TestStopped.
func TestStoppedMember(t *testing.T) {
	if os.Getenv("GRAPNEL_TEST_MEMBER") == "" {
		return
	}
	m := nodes.New(nodes.Options{
		Presence: telling{mem.New(nil)}, Node: store.Node{ID: "a", TTL: stopTTL},
		Lost: func() { fmt.Println("member: lost") },
	})
	require.NoError(t, m.Join(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // its end
	stop()
	running.Wait()
}

// telling writes each beat.
type telling struct{ *mem.Store }

func (s telling) Beat(ctx context.Context, n store.Node) error {
	fmt.Println("member: beat")
	return s.Store.Beat(ctx, n)
}
