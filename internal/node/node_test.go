package node_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/node"
)

// outcome is a test that only records how Require ends it.
type outcome struct {
	testing.TB
	failed, skipped string
}

func (o *outcome) Helper()      {}
func (o *outcome) Name() string { return "TestX" }
func (o *outcome) Fatalf(format string, args ...any) {
	o.failed = fmt.Sprintf(format, args...)
	panic(o)
}
func (o *outcome) Skip(args ...any) {
	o.skipped = fmt.Sprint(args...)
	panic(o)
}

// require returns how Require ended, and what it printed meanwhile: kept out of
// this test's own output, where it would say that something was skipped.
func require(t *testing.T, program string) (o *outcome, printed string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	assert.NoError(t, err)
	stderr := os.Stderr
	os.Stderr = file
	defer func() {
		os.Stderr = stderr
		assert.NoError(t, file.Close())
	}()
	o = &outcome{TB: t}
	func() {
		defer func() { assert.Same(t, o, recover()) }()
		node.Require(o, program)
	}()
	data, err := os.ReadFile(file.Name())
	assert.NoError(t, err)
	return o, string(data)
}

func TestMissingProgramFailsInCI(t *testing.T) {
	t.Setenv("CI", "true")
	o, printed := require(t, "no-such-program")
	assert.Contains(t, o.failed, "no-such-program: ")
	assert.Empty(t, printed)
}

func TestMissingProgramIsSkippedLoudly(t *testing.T) {
	t.Setenv("CI", "")
	o, printed := require(t, "no-such-program")
	assert.Contains(t, o.skipped, "SKIPPED: TestX needs no-such-program: ")
	assert.Equal(t, o.skipped+"\n", printed)
}

func TestMissingNode(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("PATH", "")
	o, _ := require(t, "skills-ref")
	assert.Contains(t, o.skipped, "node (20 or later) is not in PATH")
}

func TestInstalledProgram(t *testing.T) {
	info, err := os.Stat(node.Require(t, "skills-ref"))
	assert.NoError(t, err)
	assert.False(t, info.IsDir())
}

func TestServeListensOnThisMachineAndEnds(t *testing.T) {
	server := node.Serve(t, "mcp-server-everything", "streamableHttp")
	host, _, err := net.SplitHostPort(server.Addr)
	assert.NoError(t, err)
	assert.Equal(t, "127.0.0.1", host)
	conn, err := net.Dial("tcp", server.Addr)
	assert.NoError(t, err)
	assert.NoError(t, conn.Close())
	server.Kill()
	_, err = net.Dial("tcp", server.Addr)
	assert.Error(t, err)
}
